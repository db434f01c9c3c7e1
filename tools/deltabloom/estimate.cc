// deltabloom estimate: what filters cost and save before there is a database.
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "tools/deltabloom/command.h"
#include "tools/deltabloom/estimate_filters.h"
#include "tools/deltabloom/estimate_output.h"
#include "tools/deltabloom/estimate_page.h"
#include "tools/deltabloom/estimate_tree.h"

namespace deltabloom::tools {
namespace {

struct Options {
  TreeOptions tree;
  Budget budget;
  std::string page;  // the file to write it to, or none
};

// "1000000", "1e9", "10M", "64MiB". False if it is none, or not from `least` to
// `most`.
bool ParseAmount(const std::string& text, double* amount) {
  constexpr struct {
    const char* name;
    double factor;
  } kUnits[] = {{"", 1},
                {"B", 1},
                {"k", 1e3},
                {"K", 1e3},
                {"M", 1e6},
                {"G", 1e9},
                {"T", 1e12},
                {"kB", 1e3},
                {"MB", 1e6},
                {"GB", 1e9},
                {"TB", 1e12},
                {"KiB", 1024.0},
                {"MiB", 1024.0 * 1024},
                {"GiB", 1024.0 * 1024 * 1024},
                {"TiB", 1024.0 * 1024 * 1024 * 1024}};
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc()) return false;
  const std::string unit(parsed.ptr, end);
  for (const auto& known : kUnits) {
    if (unit != known.name) continue;
    *amount = number * known.factor;
    return true;
  }
  return false;
}

CLI::Option* AddAmount(CLI::App* app, const std::string& name, double* amount,
                       double least, double most, const std::string& what) {
  return app
      ->add_option_function<std::string>(
          name,
          [name, amount, least, most](const std::string& text) {
            double number = 0;
            if (!ParseAmount(text, &number) ||
                !(number >= least && number <= most)) {
              char range[64];
              std::snprintf(range, sizeof(range), "%g to %g", least, most);
              throw CLI::ValidationError(
                  name, "'" + text + "' is no amount from " + range +
                            ": use a number as in 1000000, 1e9, 10M or 64MiB");
            }
            *amount = number;
          },
          what)
      ->type_name("N");
}

ExitCode WritePage(const std::string& path, Console* console) {
  const std::string page = EstimatePage();
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (!file) {
    console->Error(path + ": " + std::strerror(errno));
    return kFailure;
  }
  if (console->json() == nullptr) console->Line("Written: " + path);
  return kSuccess;
}

ExitCode Run(const Options& options, Console* console) {
  if (!options.page.empty()) {
    const ExitCode written = WritePage(options.page, console);
    if (written != kSuccess || options.tree.keys == 0) return written;
  }
  const std::vector<TreeLevel> tree = BuildTree(options.tree);
  Budget budget = options.budget;
  if (budget.bytes == 0 && budget.absent_reads == 0 &&
      budget.bits_per_key == 0) {
    budget.bits_per_key = 10;
  }
  ShowEstimates(options.tree, tree, EstimateFilters(tree, budget), console);
  return kSuccess;
}

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
                  "Levels below level 0 [as many as the sizes make]")
      ->check(CLI::Range(1, 60))
      ->type_name("N");
}

RunFn AddOptions(CLI::App* app) {
  const auto options = std::make_shared<Options>();
  AddTreeOptions(app, &options->tree);
  auto* const bits =
      AddAmount(app, "--bits-per-key", &options->budget.bits_per_key, 0.5, 100,
                "Size of the filters, on average [10]");
  auto* const memory =
      AddAmount(app, "--memory", &options->budget.bytes, 1, 1e18,
                "Size of all filters together, in bytes, instead");
  auto* const rate = AddAmount(
      app, "--rate", &options->budget.absent_reads, 1e-9, 1000,
      "False positives per lookup, all runs together, instead: the least "
      "memory for them");
  memory->excludes(bits);
  rate->excludes(bits);
  rate->excludes(memory);
  auto* const page =
      app->add_option("--html", options->page,
                      "Write a page to FILE that computes the same, with "
                      "sliders; it needs no other file")
          ->type_name("FILE")
          ->check([](const std::string& file) {
            return std::string(file.empty() ? "needs the name of a file" : "");
          });
  app->callback([app, page] {
    if (app->count("--keys") == 0 && page->count() == 0) {
      throw CLI::RequiredError("--keys or --html");
    }
  });
  return [options](Console* console) { return Run(*options, console); };
}

}  // namespace

Implementation EstimateCommand() {
  Implementation command;
  command.manual.description = {
      "What filters cost and save in a RocksDB database with leveled "
      "compaction, before there is one: bits per key of each level, memory, "
      "data blocks read per lookup, and temporary memory for building the "
      "largest filter, for RocksDB's Bloom and Ribbon filters and for "
      "Deltabloom's layouts with uniform bits and with allocation=levels.",
      "The tree is what the sizes make of so much data when it is full: the "
      "last level, each one above it smaller by the size ratio, and some "
      "tables of level 0. Keys are spread evenly, each in one run. Rates are "
      "those that Deltabloom's layouts were measured to have or compute; of "
      "RocksDB's Bloom filter, a model within 2 % of measurements, of its "
      "Ribbon one within 10 % for filters of a thousand to a million keys.",
      "Reads of an absent key are its false positives, over all runs; of a "
      "present key, its own block and the false positives of newer runs. Index "
      "and filter blocks are taken to be in memory."};
  command.manual.examples = {
      {"deltabloom estimate --keys 1G", "10 bits per key"},
      {"deltabloom estimate --keys 500M --entry-size 1000 --memory 500MiB",
       "what a given memory buys"},
      {"deltabloom estimate --keys 10G --rate 0.01",
       "the memory for one wasted read in a hundred lookups"},
      {"deltabloom estimate --html filters.html",
       "a page to try other numbers in"}};
  command.manual.success = "the estimate was printed";
  command.manual.failure = "it could not be written";
  command.add_options = AddOptions;
  return command;
}

}  // namespace deltabloom::tools
