// deltabloom_inspect: which filters table files hold, and whether they are
// sound.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/deltabloom_inspect/output.h"
#include "tools/deltabloom_inspect/report.h"

namespace {

constexpr int kNotSound = 1;
constexpr int kBadUsage = 2;

int Run(const std::vector<std::string>& paths, bool as_json) {
  using namespace deltabloom::tools;
  std::vector<FileReport> reports;
  bool sound = true;
  for (const std::string& path : paths) {
    FileReport report = Inspect(path);
    sound = sound && report.Sound();
    if (!as_json) std::cout << ToText(report) << std::flush;
    if (!report.error.empty()) std::cerr << report.error << "\n";
    for (const FilterReport& filter : report.filters) {
      for (const FilterPart& part : filter.parts) {
        if (!part.error.empty()) std::cerr << part.error << "\n";
      }
    }
    if (as_json) reports.push_back(std::move(report));
  }
  if (as_json) std::cout << ToJson(reports);
  if (!std::cout.flush()) {
    std::cerr << "deltabloom_inspect: standard output: cannot be written\n";
    return kNotSound;
  }
  return sound ? 0 : kNotSound;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Lists the filters in table files of LevelDB and RocksDB: kind, place, "
      "size, layout, keys, and whether their checksums hold."};
  app.footer(
      "Exit status: 0 when every file could be read and every filter is sound, "
      "1 when not,\n2 for a wrong command line. Errors go to standard error, "
      "one line each.");
  std::vector<std::string> paths;
  bool as_json = false;
  app.add_option("FILE", paths, "Table files (.ldb, .sst)")->required();
  app.add_flag("--json", as_json, "Print one JSON document instead of text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  try {
    return Run(paths, as_json);
  } catch (const std::exception& error) {
    std::cerr << "deltabloom_inspect: " << error.what() << "\n";
    return kNotSound;
  }
}
