#include "tools/deltabloom/estimate/page.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"
#include "util/version.h"

namespace deltabloom::tools {

// page.html, with @VERSION@ and @DATA@ to be filled in.
extern const char* const kEstimatePageTemplate;

namespace {

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

}  // namespace deltabloom::tools
