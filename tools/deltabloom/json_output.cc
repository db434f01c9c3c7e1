#include "tools/deltabloom/json_output.h"

#include <nlohmann/json.hpp>

#include "tools/deltabloom/escape.h"

namespace deltabloom::tools {

JsonOutput::Scope JsonOutput::Object(std::string_view key) {
  Begin(key);
  *out_ << '{';
  ++depth_;
  first_ = true;
  return Scope(this, '}');
}

JsonOutput::Scope JsonOutput::Array(std::string_view key) {
  Begin(key);
  *out_ << '[';
  ++depth_;
  first_ = true;
  return Scope(this, ']');
}

void JsonOutput::Text(std::string_view key, std::string_view value) {
  Begin(key);
  *out_ << nlohmann::json(Escaped(value)).dump();
}

void JsonOutput::Number(std::string_view key, uint64_t value) {
  Begin(key);
  *out_ << value;
}

void JsonOutput::Number(std::string_view key, double value) {
  Begin(key);
  *out_ << nlohmann::json(value).dump();
}

void JsonOutput::Boolean(std::string_view key, bool value) {
  Begin(key);
  *out_ << (value ? "true" : "false");
}

void JsonOutput::Null(std::string_view key) {
  Begin(key);
  *out_ << "null";
}

// Up to where a value follows.
void JsonOutput::Begin(std::string_view key) {
  if (!first_) *out_ << ',';
  if (depth_ > 0) NewLine();
  first_ = false;
  if (!key.empty()) *out_ << '"' << key << "\": ";
}

void JsonOutput::Close(char bracket) {
  --depth_;
  if (!first_) NewLine();
  first_ = false;
  *out_ << bracket;
  if (depth_ == 0) *out_ << '\n';
}

void JsonOutput::NewLine() {
  *out_ << '\n';
  for (int i = 0; i < depth_; ++i) *out_ << "  ";
}

}  // namespace deltabloom::tools
