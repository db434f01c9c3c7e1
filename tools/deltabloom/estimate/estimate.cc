// deltabloom estimate: what filters cost and save in a future database
// (future.cc), or in one that is there (database.cc), as tables, as JSON, or as
// a page with sliders.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/deltabloom/commands.h"
#include "tools/deltabloom/estimate/database.h"
#include "tools/deltabloom/estimate/future.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
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
  return [options](Console* console) {
    return options->database.empty()
               ? EstimateFuture(options->tree, options->budget, options->page,
                                console)
               : EstimateDatabase(options->database, options->budget,
                                  options->page, console);
  };
}

constexpr char kEstimateDescription[] = R"(
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

}  // namespace

Command EstimateCommand() {
  Command command = {"estimate",
                     "Compute what filters cost and save in a database",
                     AddEstimateOptions};
  command.manual.description = kEstimateDescription;
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
