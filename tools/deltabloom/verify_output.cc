#include "tools/deltabloom/verify_output.h"

#include <cstdio>
#include <optional>

namespace deltabloom::tools {
namespace {

std::string Count(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::string Percent(double rate) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %%", 100 * rate);
  return text;
}

double Rate(const TableReport& report) {
  return static_cast<double>(report.false_positives) /
         static_cast<double>(report.absent);
}

const char* HowAsked(const MissedKey& missed) {
  if (!missed.alone && !missed.batched) return ", only by the range part";
  if (missed.alone && missed.batched) return "";
  return missed.alone ? ", only when asked alone"
                      : ", only when asked in a batch";
}

class TextOutput : public VerifyOutput {
 public:
  explicit TextOutput(Console* console) : console_(console) {}

  void Table(const VerifiedTable& table) override {
    const TableReport& report = table.report;
    if (!report.engine.empty()) {
      console_->Line(table.path + ": " + report.engine + " table, " +
                     (report.filter.empty() ? "no filter" : report.filter));
    }
    if (report.keys + report.prefixes > 0) Asked(report);
    for (const MissedKey& missed : table.missed) {
      console_->Line("  false negative: filter at offset " +
                     std::to_string(missed.offset) +
                     (missed.prefix ? ", prefix" : ", key") + HowAsked(missed) +
                     ": " + missed.key);
    }
    if (report.false_negatives > table.missed.size()) {
      console_->Line(
          "  and " +
          std::to_string(report.false_negatives - table.missed.size()) +
          " more false negatives");
    }
    for (const std::string& what : report.not_checked) {
      console_->Error(table.path + ": not checked: " + what);
    }
    if (report.cut_short) {
      console_->Line("  not covered: the rest, for the time limit");
    }
    if (!table.error.empty()) console_->Error(table.error);
  }

  void Summary(const VerifySummary& summary) override {
    const uint64_t tables = summary.sound + summary.false_negatives.size() +
                            summary.not_checked.size() +
                            summary.not_covered.size() +
                            summary.without_filter.size() + summary.gone;
    if (tables < 2) return;
    console_->Line(
        std::to_string(tables) + " tables: " + std::to_string(summary.sound) +
        " without a false negative, " +
        std::to_string(summary.false_negatives.size()) +
        " with false negatives, " +
        std::to_string(summary.without_filter.size()) + " without a filter, " +
        std::to_string(summary.not_checked.size()) + " not checked, " +
        std::to_string(summary.not_covered.size()) + " not covered, " +
        std::to_string(summary.gone) + " gone meanwhile");
    List("with false negatives", summary.false_negatives);
    List("without a filter", summary.without_filter);
    List("not checked", summary.not_checked);
    List("not covered", summary.not_covered);
  }

 private:
  void Asked(const TableReport& report) {
    std::string line = "  asked: " + Count(report.keys, "key", "keys");
    if (report.prefixes > 0) {
      line += " and " + Count(report.prefixes, "prefix", "prefixes");
    }
    console_->Line(line + ", " +
                   (report.false_negatives == 0
                        ? "no false negative"
                        : Count(report.false_negatives, "false negative",
                                "false negatives")));
    if (report.absent == 0) return;
    line = "  absent: " +
           Count(report.absent, report.keys > 0 ? "key, " : "prefix, ",
                 report.keys > 0 ? "keys, " : "prefixes, ") +
           Count(report.false_positives, "false positive", "false positives") +
           ", " + Percent(Rate(report));
    if (report.expected_rate.has_value()) {
      line += ", expected " + Percent(*report.expected_rate);
    }
    console_->Line(line);
  }

  void List(const char* what, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      console_->Line(std::string("  ") + what + ": " + path);
    }
  }

  Console* const console_;
};

class DocumentOutput : public VerifyOutput {
 public:
  explicit DocumentOutput(Console* console)
      : console_(console),
        json_(console->json()),
        files_(json_->Array("files")) {}

  void Table(const VerifiedTable& table) override {
    const auto object = json_->Object();
    const TableReport& report = table.report;
    json_->Text("file", table.path);
    if (!report.engine.empty()) Details(table);
    if (table.error.empty()) return;
    json_->Text("error", table.error);
    console_->Error(table.error);
  }

  void Summary(const VerifySummary& summary) override {
    files_.reset();
    const auto object = json_->Object("summary");
    json_->Number("sound", summary.sound);
    List("false_negatives", summary.false_negatives);
    List("without_filter", summary.without_filter);
    List("not_checked", summary.not_checked);
    List("not_covered", summary.not_covered);
    json_->Number("gone", summary.gone);
  }

 private:
  void Details(const VerifiedTable& table) {
    const TableReport& report = table.report;
    json_->Text("engine", report.engine);
    TextOrNull("column_family", report.column_family);
    TextOrNull("filter", report.filter);
    json_->Number("entries", report.entries);
    json_->Number("keys_asked", report.keys);
    json_->Number("prefixes_asked", report.prefixes);
    json_->Number("false_negatives", report.false_negatives);
    {
      const auto array = json_->Array("missed");
      for (const MissedKey& missed : table.missed) Missed(missed);
    }
    json_->Number("absent_asked", report.absent);
    json_->Number("false_positives", report.false_positives);
    NumberOrNull(
        "rate", report.absent > 0 ? std::optional(Rate(report)) : std::nullopt);
    NumberOrNull("expected_rate", report.expected_rate);
    json_->Boolean("cut_short", report.cut_short);
    List("not_checked", report.not_checked);
    for (const std::string& what : report.not_checked) {
      console_->Error(table.path + ": not checked: " + what);
    }
  }

  void Missed(const MissedKey& missed) {
    const auto object = json_->Object();
    json_->Number("offset", missed.offset);
    json_->Text(missed.prefix ? "prefix" : "key", missed.key);
    json_->Boolean("alone", missed.alone);
    json_->Boolean("in_batch", missed.batched);
    json_->Boolean("in_range", missed.in_range);
  }

  void TextOrNull(const char* key, const std::string& text) {
    if (text.empty()) {
      json_->Null(key);
    } else {
      json_->Text(key, text);
    }
  }

  void NumberOrNull(const char* key, std::optional<double> number) {
    if (number.has_value()) {
      json_->Number(key, *number);
    } else {
      json_->Null(key);
    }
  }

  void List(const char* key, const std::vector<std::string>& lines) {
    const auto array = json_->Array(key);
    for (const std::string& line : lines) json_->Text({}, line);
  }

  Console* const console_;
  JsonOutput* const json_;
  std::optional<JsonOutput::Scope> files_;
};

}  // namespace

std::unique_ptr<VerifyOutput> NewVerifyOutput(Console* console) {
  if (console->json() != nullptr) {
    return std::make_unique<DocumentOutput>(console);
  }
  return std::make_unique<TextOutput>(console);
}

}  // namespace deltabloom::tools
