#include "db_bench_ext/common/results.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"

namespace deltabloom::bench {
namespace {

constexpr char kNone[] = "-";

std::string Format(const char* format, std::optional<double> value,
                   int digits) {
  if (!value) return kNone;
  char text[64];
  std::snprintf(text, sizeof(text), format, digits, *value);
  return text;
}

std::string CellOf(const Json& row, const Column& column) {
  const auto field = row.find(column.field);
  if (field == row.end() || field->is_null()) return kNone;
  if (!field->is_number()) return field->get<std::string>();
  const double value = *field;
  switch (column.show) {
    case Show::kWhole:
      return WithThousands(static_cast<uint64_t>(std::llround(value)));
    case Show::kFixed1:
      return Fixed(value, 1);
    case Show::kFixed2:
      return Fixed(value, 2);
    case Show::kFixed3:
      return Fixed(value, 3);
    case Show::kFixed4:
      return Fixed(value, 4);
    case Show::kSignificant2:
      return Significant(value, 2);
    case Show::kSignificant4:
      return Significant(value, 4);
    case Show::kPercent:
      return Percent(value);
    case Show::kNanoseconds:
      return Nanoseconds(value);
  }
  return kNone;
}

}  // namespace

std::string Fixed(std::optional<double> value, int digits) {
  return Format("%.*f", value, digits);
}

std::string Significant(std::optional<double> value, int digits) {
  return Format("%.*g", value, digits);
}

std::string Nanoseconds(std::optional<double> value) {
  const double size = std::fabs(value.value_or(0));
  return Fixed(value, size < 1 ? 2 : size < 100 ? 1 : 0);
}

std::string Percent(std::optional<double> rate) {
  if (rate) *rate *= 100;
  return Significant(rate, 3);
}

std::string Megabytes(uint64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

std::string WithThousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

double BinomialError(double rate, uint64_t samples) {
  if (samples == 0) return 1;
  return std::sqrt(rate * (1 - rate) / static_cast<double>(samples));
}

Json Number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::string Table(const Json& rows, const std::vector<Column>& columns) {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> lines(rows.size());
  for (const Column& column : columns) {
    std::vector<std::string> cells;
    for (const Json& row : rows) cells.push_back(CellOf(row, column));
    const auto empty = std::count(cells.begin(), cells.end(), kNone);
    if (static_cast<size_t>(empty) == cells.size()) continue;
    header.push_back(column.title);
    for (size_t i = 0; i < cells.size(); ++i) lines[i].push_back(cells[i]);
  }
  TextTable table(std::move(header));
  for (std::vector<std::string>& line : lines) table.Add(std::move(line));
  return table.Text();
}

std::string TextTable::Text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

struct ResultFiles::State {
  CLI::Option* json_option = nullptr;
  CLI::Option* plot_option = nullptr;
  std::string json_path;
  bool json_to_stdout = false;
  std::string plot_path;
  std::string plot_script;
  std::optional<OutputFile> json;
  std::optional<OutputFile> plot;
};

ResultFiles::ResultFiles() : state_(std::make_unique<State>()) {}
ResultFiles::~ResultFiles() = default;

void ResultFiles::DeclareJson(CLI::App* app) {
  state_->json_option =
      app->add_option("--json", state_->json_path,
                      "Write results as JSON to FILE or standard output")
          ->expected(0, 1)
          ->type_name("[FILE]");
}

void ResultFiles::DeclarePlot(CLI::App* app, const std::string& script,
                              const std::string& description) {
  state_->plot_script = script;
  state_->plot_option =
      app->add_option("--plot", state_->plot_path, description)
          ->type_name("FILE");
}

bool ResultFiles::StdoutTaken() const { return state_->json_to_stdout; }

void ResultFiles::Claim() {
  const auto is_set = [](const CLI::Option* option) {
    return option != nullptr && option->count() > 0;
  };
  const std::string& json = state_->json_path;
  if (is_set(state_->json_option)) {
    state_->json_to_stdout = json.empty() || json == "-";
    if (!state_->json_to_stdout) state_->json.emplace("--json", json);
  }
  if (is_set(state_->plot_option)) {
    state_->plot.emplace("--plot", state_->plot_path);
    RequirePlotting("--plot");
  }
}

void ResultFiles::Write(const Json& results) {
  const std::string text = results.dump(1) + "\n";
  if (StdoutTaken()) Print(text);
  if (state_->json) {
    state_->json->Write([&](std::ostream* out) { *out << text; });
    state_->json->Publish();
  }
  if (state_->plot) {
    RunPython(state_->plot_script, {state_->plot->writing_path()}, text);
    state_->plot->Publish();
  }
}

}  // namespace deltabloom::bench
