#include "db_bench_ext/common/results.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/program.h"

namespace deltabloom::bench {
namespace {

constexpr char kNone[] = "-";

std::string CellOf(const Json& row, const Column& column) {
  const auto field = row.find(column.field);
  if (field == row.end() || field->is_null()) return kNone;
  if (!field->is_number()) return field->get<std::string>();
  const double value = field->get<double>() * column.factor;
  if (!std::isfinite(value)) return kNone;
  if (*column.format == '\0') {
    return WithThousands(static_cast<uint64_t>(std::llround(value)));
  }
  char text[64];
  std::snprintf(text, sizeof(text), column.format, value);
  return text;
}

}  // namespace

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string Significant(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
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

std::string TextTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
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

std::string Table(const Json& rows, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> lines(rows.size() + 1);
  for (const Column& column : columns) {
    std::vector<std::string> cells = {column.title};
    for (const Json& row : rows) cells.push_back(CellOf(row, column));
    const auto empty = std::count(cells.begin() + 1, cells.end(), kNone);
    if (static_cast<size_t>(empty) == rows.size()) continue;
    for (size_t i = 0; i < cells.size(); ++i) lines[i].push_back(cells[i]);
  }
  return TextTable(lines);
}

std::string TableLine(const std::vector<Column>& columns, const Json& row,
                      size_t width) {
  constexpr size_t kNumber = 7;
  std::vector<std::string> widest, cells;
  for (const Column& column : columns) {
    const std::string title = column.title;
    widest.emplace_back(
        widest.empty() ? width : std::max(kNumber, title.size()), ' ');
    cells.push_back(row.is_null() ? title : CellOf(row, column));
  }
  const std::string table = TextTable({widest, cells});
  return table.substr(table.find('\n') + 1);
}

void ResultFiles::DeclareJson(CLI::App* app) {
  json_option_ =
      app->add_option("--json", json_path_,
                      "Write results as JSON to FILE or standard output")
          ->expected(0, 1)
          ->type_name("[FILE]");
}

void ResultFiles::DeclarePlot(CLI::App* app, const std::string& script,
                              const std::string& description) {
  plot_script_ = script;
  plot_option_ =
      app->add_option("--plot", plot_path_, description)->type_name("FILE");
}

void ResultFiles::Claim() {
  if (json_option_->count() > 0) {
    json_to_stdout_ = json_path_.empty() || json_path_ == "-";
    if (!json_to_stdout_) {
      json_ = std::make_unique<OutputFile>("--json", json_path_);
    }
  }
  if (plot_option_ != nullptr && plot_option_->count() > 0) {
    plot_ = std::make_unique<OutputFile>("--plot", plot_path_);
    RequirePlotting("--plot");
  }
}

void ResultFiles::Write(const Json& results) {
  const std::string text = results.dump(1) + "\n";
  if (json_to_stdout_) Print(text);
  if (json_ != nullptr) {
    json_->Write(text);
    json_->Publish();
  }
  if (plot_ != nullptr) {
    RunPython(plot_script_, {plot_->writing_path()}, text);
    plot_->Publish();
    if (!json_to_stdout_) Print("\nWritten: " + plot_path_ + "\n");
  }
}

}  // namespace deltabloom::bench
