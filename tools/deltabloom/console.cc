#include "tools/deltabloom/console.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace deltabloom::tools {
namespace {

// The length of the well-formed UTF-8 sequence in front (Unicode 15.0, table
// 3-7), and its character; 0, and *character stays, if there is none.
size_t DecodeUtf8(std::string_view bytes, uint32_t* character) {
  const auto byte = [&bytes](size_t i) {
    return static_cast<unsigned char>(bytes[i]);
  };
  if (byte(0) < 0x80) {
    *character = byte(0);
    return 1;
  }
  size_t size = 0;
  uint32_t least = 0;  // shorter sequences hold what is below
  if (byte(0) >> 5 == 0x06) {
    size = 2;
    least = 0x80;
  } else if (byte(0) >> 4 == 0x0e) {
    size = 3;
    least = 0x800;
  } else if (byte(0) >> 3 == 0x1e) {
    size = 4;
    least = 0x10000;
  }
  if (size == 0 || size > bytes.size()) return 0;
  uint32_t decoded = byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    decoded = decoded << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = decoded >= 0xd800 && decoded <= 0xdfff;
  if (decoded < least || decoded > 0x10ffff || surrogate) return 0;
  *character = decoded;
  return size;
}

bool IsPlain(uint32_t character) {
  if (character < 0x20 || (character >= 0x7f && character <= 0x9f)) {
    return false;
  }
  switch (character) {
    case 0x061c:
    case 0x200b:
    case 0x200e:
    case 0x200f:
    case 0xfeff:
      return false;
    default:
      return !(character >= 0x2028 && character <= 0x202e) &&
             !(character >= 0x2066 && character <= 0x2069);
  }
}

// With all text in it escaped.
Json EscapedJson(Json value) {
  if (value.is_string()) return Escaped(value.get_ref<const std::string&>());
  if (value.is_structured()) {
    for (Json& element : value) element = EscapedJson(std::move(element));
  }
  return value;
}

// In lines, all but the first of which are indented by `indent` more spaces.
std::string Dump(const Json& value, size_t indent) {
  std::istringstream lines(EscapedJson(value).dump(2));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += text.empty() ? line : "\n" + std::string(indent, ' ') + line;
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
    const size_t size = DecodeUtf8(bytes, &character);
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

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %%", 100 * share);
  return text;
}

std::string Megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB",
                static_cast<double>(bytes) / 1e6);
  return text;
}

std::string Count(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

Progress::Progress(std::ostream* out, size_t columns,
                   std::chrono::milliseconds interval)
    : out_(out),
      columns_(columns),
      interval_(interval),
      last_(std::chrono::steady_clock::now()) {}

void Progress::Show(uint64_t done, uint64_t total, std::string_view unit,
                    std::string_view name) {
  if (out_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < interval_) return;
  last_ = now;
  constexpr size_t kWidth = 20;
  const double share =
      total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  std::string bar(static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kWidth),
                  '#');
  bar.resize(kWidth, ' ');
  std::string line = std::to_string(done) + " ";
  if (total != kUnknown) {
    line = "[" + bar + "] " + line + "of " + std::to_string(total) + " ";
  }
  line += std::string(unit) + ": " + Escaped(name);
  if (line.size() > columns_) {
    // Not within a character of several bytes.
    size_t end = columns_;
    while (end > 0 && (static_cast<unsigned char>(line[end]) >> 6) == 2) --end;
    line.resize(end);
  }
  *out_ << '\r' << line << "\x1b[K" << std::flush;
  drawn_ = true;
}

void Progress::Clear() {
  if (drawn_) *out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

JsonOutput::JsonOutput(std::ostream* out) : out_(out) { *out_ << '{'; }

void JsonOutput::Add(std::string_view key, const Json& value) {
  StartMember(key);
  *out_ << Dump(value, 2);
}

void JsonOutput::StartArray(std::string_view key) {
  StartMember(key);
  *out_ << '[';
  in_array_ = true;
  first_element_ = true;
}

void JsonOutput::AddElement(const Json& value) {
  *out_ << (first_element_ ? "\n    " : ",\n    ") << Dump(value, 4);
  first_element_ = false;
}

void JsonOutput::Finish() {
  EndArray();
  *out_ << (first_ ? "}\n" : "\n}\n");
}

void JsonOutput::StartMember(std::string_view key) {
  EndArray();
  *out_ << (first_ ? "\n  \"" : ",\n  \"") << key << "\": ";
  first_ = false;
}

void JsonOutput::EndArray() {
  if (in_array_) *out_ << (first_element_ ? "]" : "\n  ]");
  in_array_ = false;
}

Console::Console(const Streams& streams)
    : streams_(streams),
      progress_(streams.err_columns > 0 ? streams.err : nullptr,
                streams.err_columns, std::chrono::milliseconds(200)) {}

void Console::Line(std::string_view text) {
  if (json_.has_value()) return;
  progress_.Clear();
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
  } else {
    *streams_.out << bytes << end;
  }
}

void Console::Error(std::string_view text) {
  progress_.Clear();
  streams_.out->flush();  // on a terminal, earlier results come first
  *streams_.err << Escaped(text) << '\n' << std::flush;
}

void Console::ShowProgress(uint64_t done, uint64_t total, std::string_view unit,
                           std::string_view name) {
  // It would stand between the parts of a document on the same terminal.
  if (json_.has_value() && streams_.out_is_terminal) return;
  progress_.Show(done, total, unit, name);
}

bool Console::Finish() {
  progress_.Clear();
  if (json_.has_value()) json_->Finish();
  json_.reset();
  return static_cast<bool>(streams_.out->flush());
}

}  // namespace deltabloom::tools
