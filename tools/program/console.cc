#include "tools/program/console.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/json.h"

namespace deltabloom::tools {
namespace {

// Returns false for characters that control a terminal, end lines, turn the
// direction of text or have no width.
bool IsPlain(uint32_t character) {
  constexpr std::pair<uint32_t, uint32_t> kOthers[] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200b},
      {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
  return std::none_of(std::begin(kOthers), std::end(kOthers), [&](auto range) {
    return character >= range.first && character <= range.second;
  });
}

// Returns the value with all text in it escaped.
Json EscapedJson(Json value) {
  if (value.is_string()) return Escaped(value.get_ref<const std::string&>());
  if (value.is_structured()) {
    for (Json& element : value) element = EscapedJson(std::move(element));
  }
  return value;
}

// Prints the value in lines, all but the first of which are indented by
// `indent` more spaces.
std::string Dump(const Json& value, size_t indent) {
  std::string text = EscapedJson(value).dump(2);
  for (size_t i = text.find('\n'); i != std::string::npos;
       i = text.find('\n', i + 1)) {
    text.insert(i + 1, indent, ' ');
  }
  return text;
}

}  // namespace

std::string Escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    uint32_t character = 0;
    const size_t size = internal::DecodeUtf8(bytes, &character);
    if (character == '\\') {
      text += "\\\\";
    } else if (size > 0 && IsPlain(character)) {
      text += bytes.substr(0, size);
    } else {
      for (size_t i = 0; i < (size > 0 ? size : 1); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        text += "\\x";
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
      }
    }
    bytes.remove_prefix(size > 0 ? size : 1);
  }
  return text;
}

std::string ShellWord(const std::string& text) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "%+,-./:=@_";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string(R"('"'"')") : std::string(1, c);
  }
  return word + "'";
}

std::string Format(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

std::string Percent(double share) { return Format("%.3g %%", 100 * share); }

std::string Megabytes(uint64_t bytes) {
  return Format("%.1f MB", static_cast<double>(bytes) / 1e6);
}

std::string Count(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

void Console::StartJson() {
  is_json_ = true;
  *streams_.out << '{';
}

void Console::Add(std::string_view key, const Json& value) {
  if (!is_json_) return;
  StartMember(key);
  *streams_.out << Dump(value, 2);
}

void Console::AddAll(const Json& object) {
  for (const auto& [key, value] : object.items()) Add(key, value);
}

void Console::StartArray(std::string_view key) {
  if (!is_json_) return;
  StartMember(key);
  *streams_.out << '[';
  in_array_ = first_element_ = true;
}

void Console::AddElement(const Json& value) {
  if (!is_json_) return;
  *streams_.out << (first_element_ ? "\n    " : ",\n    ") << Dump(value, 4);
  first_element_ = false;
}

void Console::StartMember(std::string_view key) {
  EndArray();
  *streams_.out << (first_ ? "\n  \"" : ",\n  \"") << key << "\": ";
  first_ = false;
}

void Console::EndArray() {
  if (in_array_) *streams_.out << (first_element_ ? "]" : "\n  ]");
  in_array_ = false;
}

void Console::Line(std::string_view text) {
  if (is_json_) return;
  ClearProgress();
  *streams_.out << Escaped(text) << '\n';
}

void Console::Table(const std::vector<std::vector<std::string>>& rows,
                    size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line +=
          (i == 0 ? "" : "  ") + (i < left ? row[i] + space : space + row[i]);
    }
    Line(line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void Console::Raw(std::string_view bytes, char end) {
  if (streams_.out_is_terminal) {
    Line(bytes);
  } else if (!is_json_) {
    *streams_.out << bytes << end;
  }
}

void Console::Error(std::string_view text) {
  ClearProgress();
  streams_.out->flush();  // on a terminal, earlier results come first
  *streams_.err << Escaped(text) << '\n' << std::flush;
}

void Console::ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                           std::string_view name) {
  // It would stand between the parts of a document on the same terminal.
  if (streams_.err_columns == 0 || (is_json_ && streams_.out_is_terminal)) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < interval_) return;
  last_ = now;
  std::string line = std::to_string(done) + " ";
  if (total != kUnknown) {
    constexpr size_t kWidth = 20;
    const double share =
        total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
    std::string bar(static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kWidth),
                    '#');
    bar.resize(kWidth, ' ');
    line = "[" + bar + "] " + line + "of " + std::to_string(total) + " ";
  }
  line += std::string(unit) + ": " + Escaped(name);
  // The line is not cut within a character of several bytes.
  size_t end = std::min(line.size(), streams_.err_columns);
  while (end < line.size() && end > 0 &&
         (static_cast<unsigned char>(line[end]) >> 6) == 2) {
    --end;
  }
  line.resize(end);
  *streams_.err << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = true;
}

void Console::ClearProgress() {
  if (drawn_) *streams_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

bool Console::Finish() {
  ClearProgress();
  EndArray();
  if (is_json_) *streams_.out << (first_ ? "}\n" : "\n}\n");
  is_json_ = false;
  return static_cast<bool>(streams_.out->flush());
}

}  // namespace deltabloom::tools
