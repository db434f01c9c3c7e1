// deltabloom estimate: what filters cost and save in a future database, or in
// one that is there, as tables, as JSON, or as a page with sliders.
#include "tools/deltabloom/estimate/estimate.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"
#include "tools/program/program.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/version.h"

namespace deltabloom::tools {

// estimate_page.html, with @VERSION@ and @DATA@ to be filled in.
extern const char* const kEstimatePageTemplate;

std::string Short(double value) {
  if (value == 0) return "0";
  const int digits =
      std::max(0, 2 - static_cast<int>(std::floor(std::log10(value))));
  return Format(("%." + std::to_string(std::min(digits, 12)) + "f").c_str(),
                value);
}

std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return (unit == 0 ? Format("%.0f", bytes) : Short(bytes)) + " " +
         kUnits[unit];
}

std::string Count(double number) {
  std::string text = Format("%.0f", number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string BitsByLevel(const std::vector<TreeLevel>& tree,
                        const FilterEstimate& estimate) {
  std::string text;
  const auto add = [&text](double bits) {
    if (!text.empty()) text += ' ';
    text += bits < 0.05 ? "-" : Format("%.1f", bits);
  };
  const auto differs = [&](const LevelFilters& level) {
    return level.bits_per_key != estimate.levels.front().bits_per_key;
  };
  const bool uniform =
      std::none_of(estimate.levels.begin(), estimate.levels.end(), differs);
  double keys = 0;
  double bits = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    keys += tree[i].keys;
    bits += tree[i].keys * estimate.levels[i].bits_per_key;
    const bool more =
        i + 1 < tree.size() && tree[i].is_level0 && tree[i + 1].is_level0;
    if (more) continue;
    add(bits / keys);
    keys = bits = 0;
    if (uniform) break;
  }
  return text;
}

namespace {

using Cells = std::vector<std::string>;

void ShowTree(const TreeOptions& options, const std::vector<TreeLevel>& tree,
              Console* console) {
  console->Line(Count(options.keys) + " keys of " +
                Format("%g", options.entry_bytes) + " bytes, " +
                Bytes(options.keys * options.entry_bytes) + ", size ratio " +
                Format("%g", options.size_ratio));
  console->Line("");
  std::vector<Cells> rows = {{"", "sorted runs", "tables", "keys", "% of all"}};
  for (const TreeLevel& level : tree) {
    rows.push_back({level.name, Count(level.runs), Count(level.tables),
                    Count(level.keys), Short(100 * level.keys / options.keys)});
  }
  console->Table(rows, 1);
}

void ShowFilters(const std::vector<TreeLevel>& tree,
                 const std::vector<FilterEstimate>& estimates,
                 Console* console) {
  std::vector<Cells> rows = {
      {"filter", "bits_per_key", "bits per key", "memory", "reads of",
       "reads of", "fewer than", "building", ""},
      {"", "", "by level", "of filters", "absent key", "present key",
       "rocksdb-bloom", "a filter", ""}};
  const double baseline = estimates.front().absent_reads;
  for (const FilterEstimate& estimate : estimates) {
    rows.push_back({estimate.filter, Format("%g", estimate.bits_per_key),
                    BitsByLevel(tree, estimate), Bytes(estimate.bytes),
                    Short(estimate.absent_reads),
                    Format("%.4f", estimate.present_reads),
                    estimate.absent_reads > 0
                        ? Short(baseline / estimate.absent_reads) + " x"
                        : "-",
                    Bytes(estimate.build_bytes), estimate.remark});
  }
  console->Table(rows, 1);
}

}  // namespace

void RejectTotal(double bytes, double least) {
  throw std::runtime_error("--filter-memory " + Bytes(bytes) +
                           " is too little: with the least bits_per_key, " +
                           internal::NumberText(internal::kMinBitsPerKey) +
                           ", the filters take " + Bytes(least));
}

std::string PolicyLine(const std::vector<FilterEstimate>& estimates) {
  const FilterEstimate& last = estimates.back();
  if (!(last.bytes > 0)) return "There is no filter in so few bytes";
  return "The last row is filter_policy=" +
         PolicyText(last.policy_pattern, last.bits_per_key);
}

Json ToJson(const std::vector<TreeLevel>& tree) {
  Json json = Json::array();
  for (const TreeLevel& level : tree) {
    json.push_back({{"name", level.name},
                    {"runs", level.runs},
                    {"tables", level.tables},
                    {"keys", level.keys},
                    {"bottommost", level.bottommost}});
  }
  return json;
}

Json ToJson(const FilterEstimate& estimate) {
  Json json = {{"filter", estimate.filter}};
  if (estimate.bits_per_key > 0) {
    json["policy"] =
        TextOrNull(PolicyText(estimate.policy_pattern, estimate.bits_per_key));
    json["bits_per_key"] = estimate.bits_per_key;
  }
  json.update({{"bytes", estimate.bytes},
               {"absent_reads", estimate.absent_reads},
               {"present_reads", estimate.present_reads},
               {"build_bytes", estimate.build_bytes}});
  if (!estimate.remark.empty()) json["remark"] = estimate.remark;
  json["levels"] = Json::array();
  for (const LevelFilters& level : estimate.levels) {
    Json inner = {{"bits_per_key", level.bits_per_key}};
    if (!level.layout.empty()) inner["layout"] = level.layout;
    inner["false_positive_rate"] = level.rate;
    inner["bytes"] = level.bytes;
    json["levels"].push_back(std::move(inner));
  }
  return json;
}

namespace {

Json ToJson(const TreeOptions& options, const std::vector<TreeLevel>& tree,
            const std::vector<FilterEstimate>& estimates) {
  Json json = {{"keys", options.keys},
               {"entry_bytes", options.entry_bytes},
               {"size_ratio", options.size_ratio},
               {"levels", ToJson(tree)},
               {"filters", Json::array()}};
  for (const FilterEstimate& estimate : estimates) {
    json["filters"].push_back(ToJson(estimate));
  }
  return json;
}

// The bits and the rates of each filter, for tables of the last level and of
// others, by bits_per_key and by the keys of a table, for the page. It takes
// logarithms in between.
Json PageFilters(const std::vector<double>& bits,
                 const std::vector<double>& keys) {
  // All pages use these colours: db_bench_ext/common/colours.py.
  const std::map<std::string, std::string> colours = {
      {"rocksdb-bloom", "#4c72b0"},
      {"rocksdb-ribbon", "#8172b3"},
      {"classic", "#dd8452"},
      {"local", "#c44e52"},
      {"compact", "#55a868"}};
  Json filters = Json::array();
  for (size_t k = 0; k < keys.size(); ++k) {
    const std::vector<TreeLevel> tables = {
        {"upper", keys[k]}, {"last", keys[k], 1, 1, false, true}};
    for (const double b : bits) {
      const std::vector<FilterEstimate> estimates =
          EstimateFilters(tables, {b});
      for (size_t i = 0; i < estimates.size(); ++i) {
        const FilterEstimate& one = estimates[i];
        if (filters.size() == i) {
          const std::string layout = one.filter.substr(0, one.filter.find(','));
          filters.push_back({{"filter", one.filter},
                             {"policy", one.policy_pattern},
                             {"colour", colours.at(layout)}});
        }
        for (size_t level = 0; level < tables.size(); ++level) {
          Json& part = filters[i][tables[level].name];
          if (k == 0) part["bits"].push_back(one.levels[level].bits_per_key);
          part["rates"][k].push_back(std::stod(
              Format("%.5g", std::max(1e-15, one.levels[level].rate))));
        }
      }
    }
  }
  return filters;
}

Json PageData(const TreeOptions& tree, double bits_per_key) {
  std::vector<double> bits;
  for (double b = 0.5; b <= 100; b += b < 32 ? 0.25 : 4) bits.push_back(b);
  const std::vector<double> keys = {100, 1e3, 1e4, 3e4, 1e5,
                                    3e5, 1e6, 1e7, 1e8, 1e9};
  Json data = {
      {"bits", bits}, {"keys", keys}, {"filters", PageFilters(bits, keys)}};
  data["tree"] = {{"write_buffer", tree.write_buffer_bytes},
                  {"level_base", tree.level_base_bytes},
                  {"table", tree.table_bytes},
                  {"level0_tables", tree.level0_tables},
                  {"levels", tree.levels}};
  data["start"] = {{"keys", tree.keys > 0 ? tree.keys : 1e9},
                   {"entry", tree.entry_bytes},
                   {"bits", std::clamp(bits_per_key, 0.5, 100.0)},
                   {"ratio", tree.size_ratio}};
  return data;
}

void Replace(const std::string& mark, const std::string& by,
             std::string* text) {
  text->replace(text->find(mark), mark.size(), by);
}

}  // namespace

ExitCode WritePage(const std::string& file, const TreeOptions& tree,
                   double bits_per_key, const Json& of_database,
                   Console* console) {
  Json data = PageData(tree, bits_per_key);
  data.update(of_database);
  std::string text = data.dump();
  // Within a script no name may end it.
  for (size_t at; (at = text.find('<')) != text.npos;) {
    text.replace(at, 1, "\\u003c");
  }
  std::string page = kEstimatePageTemplate;
  Replace("@VERSION@", internal::kVersion, &page);
  Replace("@DATA@", text, &page);
  std::ofstream out(file, std::ios::binary);
  out << page;
  out.close();
  if (out) {
    console->Line("Written: " + file);
    return kSuccess;
  }
  console->Error("deltabloom estimate: " + file +
                 ": cannot be written: " + std::strerror(errno));
  // A part of a page is none. Devices stay.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) {
    std::filesystem::remove(file, ignored);
  }
  return kFailure;
}

namespace {

struct EstimateOptions {
  TreeOptions tree;
  Budget budget;
  std::string page;      // the file to write it to, or none
  std::string database;  // empty: a future one
};

// "1000000", "1e9", "10M", "64MiB".
CLI::Option* AddAmount(CLI::App* app, const std::string& name, double* amount,
                       double least, double most, const std::string& what) {
  static const std::vector<Unit> kUnits = {
      {"", 1},          {"B", 1},         {"k", 1e3},
      {"K", 1e3},       {"M", 1e6},       {"G", 1e9},
      {"T", 1e12},      {"kB", 1e3},      {"MB", 1e6},
      {"GB", 1e9},      {"TB", 1e12},     {"KiB", 1 << 10},
      {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1024.0 * (1 << 30)}};
  const auto parse = [=](const std::string& text) {
    const std::optional<double> parsed = ParseAmount(text, kUnits, least, most);
    if (!parsed.has_value()) {
      throw CLI::ValidationError(
          name, "'" + text + "' is not a number from " + Format("%g", least) +
                    " to " + Format("%g", most) +
                    ": use a number as in 1000000, 1e9, 10M or 64MiB");
    }
    *amount = *parsed;
  };
  return app->add_option_function<std::string>(name, parse, what)
      ->type_name("N");
}

ExitCode RunEstimate(const EstimateOptions& options, Console* console) {
  if (!options.database.empty()) {
    return EstimateDatabase(options.database, options.budget, options.page,
                            console);
  }
  const std::vector<TreeLevel> tree = BuildTree(options.tree);
  Budget budget = options.budget;
  if (budget.bytes == 0 && budget.absent_reads == 0 &&
      budget.bits_per_key == 0) {
    budget.bits_per_key = 10;
  }
  const std::vector<FilterEstimate> estimates = EstimateFilters(tree, budget);
  const FilterEstimate& last = estimates.back();
  if (budget.bytes > 0 && last.bytes == 0) {
    RejectTotal(budget.bytes,
                EstimateFilters(tree, {internal::kMinBitsPerKey}).back().bytes);
  }
  if (!options.page.empty()) {
    const ExitCode written = WritePage(
        options.page, options.tree, last.bits_per_key, Json::object(), console);
    if (written != kSuccess || options.tree.keys == 0) return written;
  }
  console->AddAll(ToJson(options.tree, tree, estimates));
  ShowTree(options.tree, tree, console);
  console->Line("");
  ShowFilters(tree, estimates, console);
  console->Line("");
  console->Line(PolicyLine(estimates));
  return kSuccess;
}

// The tree of a future database.
void AddTreeOptions(CLI::App* app, TreeOptions* tree) {
  AddAmount(app, "--keys", &tree->keys, 1, 1e15, "Keys in the database");
  AddAmount(app, "--entry-size", &tree->entry_bytes, 1, 1e9,
            "Bytes of a key and its value, as stored [100]");
  AddAmount(app, "--size-ratio", &tree->size_ratio, 2, 1000,
            "max_bytes_for_level_multiplier [10]");
  AddAmount(app, "--level-base", &tree->level_base_bytes, 1, 1e18,
            "max_bytes_for_level_base [256MiB]");
  AddAmount(app, "--write-buffer", &tree->write_buffer_bytes, 1, 1e18,
            "write_buffer_size: bytes of a table of level 0 [64MiB]");
  AddAmount(app, "--table-size", &tree->table_bytes, 1, 1e18,
            "target_file_size_base: bytes of other tables [64MiB]");
  AddAmount(app, "--level0-tables", &tree->level0_tables, 0, 1000,
            "Tables of level 0 that a lookup finds on average [2]");
  app->add_option("--levels", tree->levels,
                  "Levels below level 0 [as many as the data needs]")
      ->check(CLI::Range(1, 60))
      ->type_name("N");
  for (const char* name :
       {"--keys", "--entry-size", "--size-ratio", "--level-base",
        "--write-buffer", "--table-size", "--level0-tables", "--levels"}) {
    app->get_option(name)->excludes(app->get_option("DIR"));
  }
}

// The size of the filters, and the lookups that it is for.
void AddBudgetOptions(CLI::App* app, Budget* budget) {
  // One wasted read in a thousand million lookups costs no time that could be
  // measured.
  constexpr double kLeastWastedReads = 1e-9;
  auto* const bits =
      AddAmount(app, "--bits-per-key", &budget->bits_per_key, 0.5, 100,
                "bits_per_key of the policy [10; with DIR, what the bytes of "
                "the filters that are there make]");
  auto* const memory =
      AddAmount(app, "--filter-memory", &budget->bytes, 1, 1e18,
                "Size of all filters together, in bytes, instead: prints the "
                "bits_per_key that fits");
  auto* const rate = AddAmount(
      app, "--rate", &budget->absent_reads, kLeastWastedReads, 1000,
      "False positives per lookup, all runs together, instead: prints the "
      "least bits_per_key for them");
  memory->excludes(bits);
  rate->excludes(bits);
  rate->excludes(memory);
}

void AddPageOption(CLI::App* app, std::string* page) {
  app->add_option("--html", *page,
                  "Write a page to FILE that computes the same, with sliders "
                  "that begin at the other options; it needs no other file")
      ->type_name("FILE")
      ->check([](const std::string& file) {
        const bool named = !file.empty() && file != "-";
        return std::string(
            named ? "" : "needs the name of a file; /dev/stdout prints it");
      });
}

// Throws unless there is a tree, or a page that can begin without one.
void RequireTree(const CLI::App& app) {
  if (app.count("--keys") > 0 || app.count("DIR") > 0) return;
  for (const char* name : {"--filter-memory", "--rate"}) {
    if (app.count(name) > 0) throw CLI::RequiresError(name, "--keys or DIR");
  }
  if (app.count("--html") == 0) {
    throw CLI::RequiredError("DIR, --keys or --html");
  }
}

RunFn AddEstimateOptions(CLI::App* app) {
  const auto options = std::make_shared<EstimateOptions>();
  app->add_option("DIR", options->database,
                  "The directory of a RocksDB database, which may be open; "
                  "without it a future one is estimated")
      ->check(CLI::ExistingDirectory);
  AddTreeOptions(app, &options->tree);
  AddBudgetOptions(app, &options->budget);
  AddPageOption(app, &options->page);
  app->callback([app] { RequireTree(*app); });
  return [options](Console* console) { return RunEstimate(*options, console); };
}

}  // namespace

Command EstimateCommand() {
  Command command = {"estimate",
                     "Compute what filters cost and save in a database",
                     AddEstimateOptions};
  command.manual.description = R"(
Computes what filters cost and save in a RocksDB database: bits per key of each
level, memory, data blocks read per lookup, and temporary memory for building
the largest filter. It does so for RocksDB's Bloom and Ribbon filters and for
Deltabloom's layouts. The last row, compact, is the default: tables of the last
level have bits_per_key, others more (docs/guide.md). In the other rows all
tables have the same bits per key. RocksDB's Ribbon filter is set so that it
stores bits_per_key.

Without DIR it does so for a future database with leveled compaction. The tree
is full: the last level, each one above it smaller by the size ratio, and some
tables of level 0. Keys are spread evenly, each in one run.

With DIR it does so for a database that is there. It reads the OPTIONS file, the
MANIFEST, and of each table its properties and the end of its filter; nothing is
written, and the database may be open. For each column family it shows its
levels with their filters; what lookups read now; what other filters would let
them read with the bytes of now, or those of --bits-per-key or --filter-memory,
and which bytes and bits_per_key would be enough for the reads of now, or those
of --rate; and how to get there, with the CPU time and the bytes to write.
Without filters there now, 10 bits per key are compared. A table of level 0 is a
sorted run, and so is each other level; lookups are taken to be spread as the
keys are, and a table is asked as far as its keys reach. The tables of the
lowest level count as those of the last one, unless it is level 0; under FIFO
compaction all tables do.

--filter-memory with DIR is the total of all column families. It prints the
bits_per_key with which the filters of all tables that are there take at most as
much, once compactions have rewritten them, for the layout of the policy that is
set, and how to set it. Partitioned filters take some per cent more. The total
is not kept when the database grows: run it again.

The filters of deltabloom refilter are layout compact in the bytes of each old
filter; refilter --dry-run computes them exactly. CPU seconds are those of an
AMD EPYC (Zen 4), from docs/measurements.md ("Rewriting tables").

If the LOG, or else the newest LOG.old, has statistics (the options statistics
and stats_dump_period_sec), it shows the share of lookups that found nothing, of
seeks that found nothing within their bounds, and of seeks in a sorted run that
read a data block but no value: the most that range filters can save. They
count from the start of the process on, for all databases that share the
statistics. Lookups of a deleted key that is still in the memtable count as
found, keys of merge operands alone as not found.

The rates of local and compact are exact, those of classic were measured. Those
of RocksDB's filters come from models, which are within 2 % of measurements for
Bloom, and within 10 % for Ribbon with a thousand to a million keys per filter.

Reads of an absent key are its false positives, over all runs; of a present key,
its own block and the false positives of newer runs. Index and filter blocks are
taken to be in memory.

The document of --json without DIR has the tree, whose "levels" go from the
newest run on, and "filters": for each row its "filter", the text of its
"policy" (null for RocksDB's), "bits_per_key", "bytes", "absent_reads",
"present_reads", "build_bytes", and for each of the "levels" "bits_per_key",
"layout" (which may differ for few keys), "false_positive_rate" and "bytes".

With DIR it has "database", "statistics" (null without), "filter_memory" (null
without the option: its "bytes", and the "bits_per_key", "upper_bits_per_key",
"layout" and "filter_bytes" that it makes) and "column_families". A column
family has "levels" as they are; "tree", its sorted runs; "now", "filters" and
"refilter", with the fields of filters without DIR; "same_reads", the filters
for the reads of now or those of --rate; and "rewrite", with CPU seconds and
bytes to write by compaction and by refilter. Unknown values are null.)";
  command.manual.examples = {
      {"deltabloom estimate /var/lib/db",
       "what other filters would save in this database"},
      {"deltabloom estimate /var/lib/db --filter-memory 2GiB",
       "the bits_per_key with which its filters take 2 GiB"},
      {"deltabloom estimate /var/lib/db --html filters.html",
       "a page that begins at this database"},
      {"deltabloom estimate --keys 1G", "10 bits per key"},
      {"deltabloom estimate --keys 500M --entry-size 1000 --filter-memory "
       "500MiB",
       "the bits_per_key that fits, and its reads"},
      {"deltabloom estimate --keys 10G --rate 0.01",
       "the bits_per_key for one wasted read in a hundred lookups"},
      {"deltabloom estimate --html filters.html",
       "a page to try other numbers in"}};
  command.manual.success = "the estimate was printed";
  command.manual.failure = "the page could not be written";
  command.manual.undecided =
      "the database, or a part of it, could not be read, or --filter-memory is "
      "too little";
  return command;
}

}  // namespace deltabloom::tools
