// Results of the measuring programs: numbers as text, tables, and the files of
// --json and --plot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db_bench_ext/common/files.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace deltabloom::bench {

using Json = nlohmann::ordered_json;

// Prints the value with `digits` digits after the point.
std::string Fixed(double value, int digits);

// Prints the value with at most `digits` significant digits: 10, 9.9, 1.2e-05.
std::string Significant(double value, int digits);

// 100,000,000
std::string WithThousands(uint64_t number);

// The mean of the middle two where the number of values is even.
// REQUIRES: values is not empty.
double Median(std::vector<double> values);

// The standard deviation of a rate measured as `rate` in `samples` trials.
double BinomialError(double rate, uint64_t samples);

// Rows of cells as text, with columns as wide as they need: the first to the
// left, the others to the right. Rows may differ in length.
std::string TextTable(const std::vector<std::vector<std::string>>& rows);

// A column of a table of results: a field of each row.
struct Column {
  const char* field;
  const char* title;
  const char* format = "";  // of printf, for a double; empty: whole numbers
  double factor = 1;        // 100 for percent
};

// The rows, which are JSON objects, as a text table. A field that is null, not
// finite or absent is "-"; a column without any value is left out.
std::string Table(const Json& rows, const std::vector<Column>& columns);

// One line of such a table whose rows are printed one by one: of a row, or of
// the titles if it is null. The first column has `width` characters or more.
std::string TableLine(const std::vector<Column>& columns, const Json& row,
                      size_t width);

// The files that the results of a run go to: options --json [FILE] and, for
// programs that have a script to draw, --plot.
class ResultFiles {
 public:
  void DeclareJson(CLI::App* app);
  // The script of db_bench_ext reads the JSON from standard input; its argument
  // is a PNG file.
  void DeclarePlot(CLI::App* app, const std::string& script,
                   const std::string& description);

  // Claims the files before the measurement begins. Throws UsageError.
  // REQUIRES: the app was parsed and still exists.
  void Claim();

  // Standard output has the JSON; print nothing else to it.
  bool StdoutTaken() const { return json_to_stdout_; }

  // Writes the files. Throws std::runtime_error.
  void Write(const Json& results);

 private:
  CLI::Option* json_option_ = nullptr;
  CLI::Option* plot_option_ = nullptr;
  std::string json_path_;
  std::string plot_path_;
  std::string plot_script_;
  bool json_to_stdout_ = false;
  std::unique_ptr<OutputFile> json_;
  std::unique_ptr<OutputFile> plot_;
};

}  // namespace deltabloom::bench
