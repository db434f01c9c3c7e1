"""The OPTIONS files that db_bench is given: all a comparison keeps equal is in
one place, and only the filter differs."""

TEMPLATE = """\
[Version]
  rocksdb_version={version}
  options_file_version=1.1

[DBOptions]
  create_if_missing=true
  use_direct_reads={direct}
  max_open_files=-1
  max_background_jobs=2
{listener}
[CFOptions "default"]
  num_levels=5
  compression=kNoCompression
  write_buffer_size=524288
  target_file_size_base=2097152
  max_bytes_for_level_base=4194304
  max_bytes_for_level_multiplier=4
  level_compaction_dynamic_level_bytes=false
  disable_auto_compactions={frozen}
{prefix}
[TableOptions/BlockBasedTable "default"]
  cache_index_and_filter_blocks=true
  metadata_cache_options={{top_level_index_pinning=kAll;partition_pinning=kAll;unpartitioned_pinning=kAll}}
  optimize_filters_for_memory=false
{table}"""

PREFIX_SIZE = 8
KEYS_PER_PREFIX = 10


def text(version, database, frozen, direct, prefix):
    """frozen: no compaction changes the tree. prefix: filters hold prefixes of
    PREFIX_SIZE bytes beside the keys."""
    table = ""
    if database.filter.uri:
        table += f"  filter_policy={database.filter.policy(database.bits_per_key)}\n"
    if database.partitioned:
        table += "  partition_filters=true\n  index_type=kTwoLevelIndexSearch\n"
        table += "  metadata_block_size=4096\n"
    extractor = f"rocksdb.FixedPrefix.{PREFIX_SIZE}" if prefix else database.filter.extractor
    return TEMPLATE.format(
        version=version,
        direct="true" if direct else "false",
        frozen="true" if frozen else "false",
        listener="  listeners=deltabloom\n" if database.filter.levels else "",
        prefix=f"  prefix_extractor={extractor}\n" if extractor else "",
        table=table,
    )
