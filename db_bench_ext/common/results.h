// Results of the measuring programs: numbers as text, one table of columns for
// rows of JSON, and the files of --json and --plot.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_RESULTS_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_RESULTS_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace deltabloom::bench {

using Json = nlohmann::ordered_json;

// Numbers as tables show them. A missing number is "-".

// With `digits` digits after the point.
std::string Fixed(std::optional<double> value, int digits);

// With at most `digits` significant digits: 10, 9.9, 1.2e-05.
std::string Significant(std::optional<double> value, int digits);

// Three significant digits, at most two of them after the point.
std::string Nanoseconds(std::optional<double> value);

// A rate in percent: 0.838, 0.0098, 1.2e-05.
std::string Percent(std::optional<double> rate);

// Bytes in millions, rounded up: "12 MB".
std::string Megabytes(uint64_t bytes);

// 100,000,000
std::string WithThousands(uint64_t number);

// The mean of the middle two where the number of values is even.
// REQUIRES: values is not empty.
double Median(std::vector<double> values);

// The standard deviation of a rate measured as `rate` in `samples` trials.
double BinomialError(double rate, uint64_t samples);

// JSON of a number; null if it is missing or not finite.
Json Number(std::optional<double> value);

// How a column shows its numbers. Texts are shown as they are.
enum class Show : uint8_t {
  kWhole,  // with thousands separators
  kFixed1,
  kFixed2,
  kFixed3,
  kFixed4,
  kSignificant2,
  kSignificant4,
  kPercent,
  kNanoseconds,
};

// A column of a text table: a field of each row.
struct Column {
  const char* field;
  std::string title;
  Show show = Show::kWhole;
};

// The rows, which are JSON objects, as a text table. A null or absent field is
// "-"; a column without any value is left out.
std::string Table(const Json& rows, const std::vector<Column>& columns);

// A table whose columns are as wide as they need: the first to the left, the
// others to the right. Rows may differ in length; the first is the header.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header)
      : rows_{std::move(header)} {}

  void Add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
  }

  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Where the results of a run go: options --json [FILE] and, for programs that
// have a script to draw, --plot.
class ResultFiles {
 public:
  ResultFiles();
  ~ResultFiles();

  void DeclareJson(CLI::App* app);
  // The script of db_bench_ext reads the JSON from standard input; its argument
  // is a PNG file.
  void DeclarePlot(CLI::App* app, const std::string& script,
                   const std::string& description);

  // Claims the files before the measurement begins. Throws UsageError.
  // REQUIRES: the app was parsed and still exists.
  void Claim();

  // Standard output has the JSON; print nothing else to it.
  bool StdoutTaken() const;

  // Writes the files. Throws std::runtime_error.
  void Write(const Json& results);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_RESULTS_H_
