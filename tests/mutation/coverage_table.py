"""Which tests cover which files: the first line whose pattern fits counts.

Patterns are those of fnmatch, where * also stands for slashes. The order of a
list means nothing: tests run fastest first, and the first failure ends a
mutant.
"""

LAYOUTS = [
    "hash_test", "hash_list_test", "cpu_test", "cpu_test_portable", "cpu_test_avx2",
    "cpu_test_avx512", "cpu_test_unknown", "layout_test", "layout_conformance_test",
    "layout_estimate_test", "layout_adversarial_test", "compact_test", "compact_avx512_test",
    "filter_test", "golden_test", "filter_fuzz_replay", "filter_block_fuzz_replay",
]  # fmt: skip
SST = [
    "sst_crafted_test", "sst_bounded_memory_test", "inspect_memory_test",
    "inspect_test", "sst_real_test",
]  # fmt: skip
LEVELDB = ["leveldb_filter_test", "leveldb_database_test"]
# Of engines/rocksdb/, for its files: all its tests for each survivor would take
# minutes.
POLICY = [
    "rocksdb_policy_test", "rocksdb_out_of_memory_test", "rocksdb_*options_test",
    "rocksdb_plugin_test", "rocksdb_c_test",
]  # fmt: skip
BUILDING = [
    "rocksdb_filter_test", "rocksdb_lookup_test", "rocksdb_range_test",
    "rocksdb_key_transform_test", "rocksdb_statistics_test",
]  # fmt: skip
STATISTICS = ["rocksdb_statistics_test", "rocksdb_threads_test", "rocksdb_lookup_test"]
LEVELS = ["rocksdb_levels_*test", "rocksdb_tree_bits_test", "rocksdb_statistics_test"]

# (pattern of the file, tests: names, or patterns of them)
TESTS = [
    ("table/sst/*", SST),
    ("engines/leveldb/*", LEVELDB),
    ("engines/rocksdb/plugin/*", ["rocksdb_dlclose_test", "rocksdb_plugin_test",
                                  "rocksdb_preload_test",
                                  "rocksdb_statistics_file_test"]),
    ("engines/rocksdb/range/*", [*POLICY, "rocksdb_range_*test", "rocksdb_key_transform_test"]),
    ("engines/rocksdb/levels/level_bits*", [*LEVELS, *POLICY]),
    ("engines/rocksdb/levels/*", LEVELS),
    ("engines/rocksdb/statistics/*", [*POLICY, *STATISTICS]),
    ("engines/rocksdb/policy/bits_reader.*", [*POLICY, *BUILDING, *STATISTICS]),
    ("engines/rocksdb/policy/key_*", [*POLICY, "rocksdb_key_transform_test",
                                      "rocksdb_filter_test"]),
    ("engines/rocksdb/policy/options.*", [*POLICY, "rocksdb_key_transform_test",
                                          "rocksdb_range_test", "rocksdb_filter_test"]),
    ("engines/rocksdb/policy/bits_builder.*", [*POLICY, *BUILDING]),
    ("engines/rocksdb/*", ["rocksdb_*_test"]),
    ("util/rates/*", ["rate_test", "shared_filters_test", "concurrent_filter_test",
                      "rocksdb_filter_test", "rocksdb_tree_bits_test"]),
    ("util/layouts/*/rate.cc", ["rate_test", *LAYOUTS]),
    ("table/small_filter.h", [*LAYOUTS, *LEVELDB]),
    ("util/range/*", ["range_*test", "range_fuzz_replay"]),
    ("util/*", [*LAYOUTS, "rate_test"]),
    ("table/*", LAYOUTS),
]  # fmt: skip
