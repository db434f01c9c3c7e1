#include "shared_filters/redis/request.h"

#include <charconv>

namespace deltabloom::internal {
namespace {

void AppendWord(std::string_view word, std::string* out) {
  *out += '$';
  *out += std::to_string(word.size());
  *out += "\r\n";
  *out += word;
  *out += "\r\n";
}

}  // namespace

void Request::AppendNumber(uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  tail_.append(digits, static_cast<size_t>(end - digits));
}

Request& Request::Number(uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  return Word({digits, static_cast<size_t>(end - digits)});
}

void Request::AppendTo(std::string* out, bool whole_script) const {
  *out += '*';
  *out += std::to_string(words_ + (script_ == nullptr ? 0 : 2));
  *out += "\r\n";
  if (script_ != nullptr) {
    AppendWord(whole_script ? "EVAL" : "EVALSHA", out);
    AppendWord(whole_script ? script_->body : script_->sha1, out);
  }
  *out += tail_;
}

}  // namespace deltabloom::internal
