#include "db_bench_ext/levels/report.h"

#include <rocksdb/version.h>

#include <nlohmann/json.hpp>

#include "db_bench_ext/common/results.h"

namespace deltabloom::levels {

using bench::Fixed;
using bench::Significant;
using bench::TextTable;
using bench::WithThousands;

namespace {

constexpr char kReference[] = "rocksdb-bloom";

// How many times fewer reads than `reference` has.
std::optional<double> Fewer(const Result& result, const Result* reference) {
  if (reference == nullptr || result.absent.data_blocks == 0) {
    return std::nullopt;
  }
  return reference->absent.Reads() / result.absent.Reads();
}

const Result* FindReference(const TreeResults& tree) {
  for (const Result& result : tree.results) {
    if (result.contender.name == kReference) return &result;
  }
  return nullptr;
}

// Of the gain over uniform bits that is possible in this tree, the share that
// there is: uniform / measured of uniform / best.
std::optional<double> ShareOfGain(const Result& result) {
  if (!result.best_reads || result.absent.data_blocks == 0) {
    return std::nullopt;
  }
  return *result.best_reads / result.absent.Reads();
}

std::string BitsOfRuns(const Tree& tree) {
  std::string text;
  for (const Run& run : tree.runs) {
    const double bits = 8 * static_cast<double>(run.FilterBytes()) /
                        static_cast<double>(run.Entries());
    text += (text.empty() ? "" : " ") + Fixed(bits, 1);
  }
  return text;
}

TextTable FilterTable(const TreeResults& tree) {
  TextTable table({"filter", "bytes", "bits/key", "bits per key of each run"});
  for (const Result& result : tree.results) {
    const bool none = result.contender.allocation == Allocation::kNone;
    table.Add({result.contender.name, WithThousands(result.tree.FilterBytes()),
               Fixed(result.tree.BitsPerKey(), 2),
               none ? "-" : BitsOfRuns(result.tree)});
  }
  return table;
}

TextTable ReadTable(const TreeResults& tree) {
  TextTable table({"filter", "absent", "+-", "model", "differs", "formula",
                   "fewer", "of best", "half exist", "model", "differs",
                   "ns absent", "ns half"});
  const Result* const reference = FindReference(tree);
  for (const Result& one : tree.results) {
    table.Add({one.contender.name, Significant(one.absent.Reads(), 4),
               Significant(CountingError(one.absent, one.predicted_absent), 2),
               Significant(one.predicted_absent.reads, 4),
               Fixed(StandardErrors(one.absent, one.predicted_absent), 1),
               Significant(one.formula_absent, 4),
               Fixed(Fewer(one, reference), 2), Fixed(ShareOfGain(one), 2),
               Significant(one.mixed.Reads(), 5),
               Significant(one.predicted_mixed.reads, 5),
               Fixed(StandardErrors(one.mixed, one.predicted_mixed), 1),
               Fixed(one.absent.Nanoseconds(), 0),
               Fixed(one.mixed.Nanoseconds(), 0)});
  }
  return table;
}

nlohmann::json JsonOf(const LookupCounts& counts,
                      const Prediction& prediction) {
  nlohmann::json json;
  json["lookups"] = counts.lookups;
  json["data_blocks"] = counts.data_blocks;
  json["reads_per_lookup"] = counts.Reads();
  json["counting_error"] = CountingError(counts, prediction);
  json["predicted"] = prediction.reads;
  json["model_error"] = prediction.error;
  json["standard_errors"] = StandardErrors(counts, prediction);
  json["nanoseconds"] = counts.Nanoseconds();
  return json;
}

nlohmann::json JsonOf(const Run& run) {
  return {{"level", run.level},
          {"tables", run.tables.size()},
          {"entries", run.Entries()},
          {"filter_keys", run.FilterKeys()},
          {"filter_bytes", run.FilterBytes()},
          {"share_of_lookups", run.Share()}};
}

nlohmann::json JsonOf(const Result& result, const Result* reference) {
  const auto number = [](std::optional<double> value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  nlohmann::json json;
  json["filter"] = result.contender.name;
  json["bits_asked"] = result.bits_asked;
  json["filter_bytes"] = result.tree.FilterBytes();
  json["entries"] = result.tree.Entries();
  json["bits_per_key"] = result.tree.BitsPerKey();
  json["absent"] = JsonOf(result.absent, result.predicted_absent);
  json["absent"]["formula"] = number(result.formula_absent);
  json["half_exist"] = JsonOf(result.mixed, result.predicted_mixed);
  json["times_fewer_than_rocksdb_bloom"] = number(Fewer(result, reference));
  json["uniform_reads"] = number(result.uniform_reads);
  json["best_reads"] = number(result.best_reads);
  json["share_of_gain"] = number(ShareOfGain(result));
  for (const Run& run : result.tree.runs) json["runs"].push_back(JsonOf(run));
  return json;
}

}  // namespace

std::string FormatSetting(const Options& options) {
  return "RocksDB " + rocksdb::GetRocksVersionAsString() + ", " +
         Significant(options.bits_per_key, 10) +
         " bits per key of filter in every database, " +
         WithThousands(options.lookups) + " lookups of absent keys, seed " +
         std::to_string(options.seed) + R"(.

absent      data blocks asked for per lookup of an absent key: hits and misses
            of the block cache (BLOCK_CACHE_DATA_HIT + BLOCK_CACHE_DATA_MISS)
+-          standard error of counting
model       sum of the rates of the filters as built, measured outside databases
differs     absent - model, in standard errors of both
formula     the same sum by the tables of Deltabloom's layouts
fewer       reads of rocksdb-bloom over these
of best     reads that the best spread of the same bytes over this tree would
            leave, over these
half exist  as absent, of lookups of which every second key exists
ns          nanoseconds per lookup, with all counters on
)";
}

std::string FormatTree(const TreeResults& tree) {
  const Tree& shape = tree.results.front().tree;
  return "\n" + tree.plan.Name() + ": " + DescribeRuns(shape) +
         (tree.plan.growth == Growth::kSettled
              ? " entries, the same in every database\n\n"
              : " entries, without a filter; the others grew like it\n\n") +
         FilterTable(tree).Text() + "\n" + ReadTable(tree).Text();
}

void WriteCsv(const std::vector<TreeResults>& trees, std::ostream* out) {
  *out << "tree,filter,filter_bytes,entries,bits_per_key,lookups,absent_reads,"
          "absent_error,absent_predicted,absent_standard_errors,absent_formula,"
          "times_fewer_than_rocksdb_bloom,share_of_gain,half_exist_reads,"
          "half_exist_predicted,half_exist_standard_errors,absent_ns,"
          "half_exist_ns,runs\n";
  for (const TreeResults& tree : trees) {
    const Result* const reference = FindReference(tree);
    for (const Result& one : tree.results) {
      const auto number = [](std::optional<double> value) {
        return value ? Significant(value, 8) : std::string();
      };
      *out << tree.plan.Name() << ',' << one.contender.name << ','
           << one.tree.FilterBytes() << ',' << one.tree.Entries() << ','
           << number(one.tree.BitsPerKey()) << ',' << one.absent.lookups << ','
           << number(one.absent.Reads()) << ','
           << number(CountingError(one.absent, one.predicted_absent)) << ','
           << number(one.predicted_absent.reads) << ','
           << number(StandardErrors(one.absent, one.predicted_absent)) << ','
           << number(one.formula_absent) << ',' << number(Fewer(one, reference))
           << ',' << number(ShareOfGain(one)) << ','
           << number(one.mixed.Reads()) << ','
           << number(one.predicted_mixed.reads) << ','
           << number(StandardErrors(one.mixed, one.predicted_mixed)) << ','
           << number(one.absent.Nanoseconds()) << ','
           << number(one.mixed.Nanoseconds()) << ',' << BitsOfRuns(one.tree)
           << '\n';
    }
  }
}

std::string FormatJson(const Options& options,
                       const std::vector<TreeResults>& trees) {
  nlohmann::json json;
  json["rocksdb"] = rocksdb::GetRocksVersionAsString();
  json["bits_per_key"] = options.bits_per_key;
  json["seed"] = options.seed;
  for (const TreeResults& tree : trees) {
    nlohmann::json one;
    one["tree"] = tree.plan.Name();
    one["size_ratio"] = tree.plan.size_ratio;
    one["keys"] = tree.plan.keys;
    for (const Result& result : tree.results) {
      one["databases"].push_back(JsonOf(result, FindReference(tree)));
    }
    json["trees"].push_back(one);
  }
  return json.dump(1) + "\n";
}

}  // namespace deltabloom::levels
