// A JSON document, written as it becomes known: nothing of it is kept.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_JSON_OUTPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_JSON_OUTPUT_H_

#include <cstdint>
#include <ostream>
#include <string_view>

namespace deltabloom::tools {

// Members and elements in the order of the calls. `key` is the name of a member
// where an object is open, and empty where an array is. Keys are ours and
// plain; text is written as Escaped() gives it, so that it reads the same in
// all output.
class JsonOutput {
 public:
  // Closes what Object or Array opened.
  class Scope {
   public:
    Scope(Scope&& other) noexcept
        : json_(other.json_), bracket_(other.bracket_) {
      other.json_ = nullptr;
    }
    Scope& operator=(Scope&&) = delete;
    ~Scope() {
      if (json_ != nullptr) json_->Close(bracket_);
    }

   private:
    friend class JsonOutput;
    Scope(JsonOutput* json, char bracket) : json_(json), bracket_(bracket) {}
    JsonOutput* json_;
    char bracket_;
  };

  explicit JsonOutput(std::ostream* out) : out_(out) {}

  [[nodiscard]] Scope Object(std::string_view key = {});
  [[nodiscard]] Scope Array(std::string_view key = {});

  void Text(std::string_view key, std::string_view value);
  void Number(std::string_view key, uint64_t value);
  void Number(std::string_view key, double value);
  void Boolean(std::string_view key, bool value);
  void Null(std::string_view key);

 private:
  void Begin(std::string_view key);
  void Close(char bracket);
  void NewLine();

  std::ostream* const out_;
  int depth_ = 0;
  bool first_ = true;  // in the object or array that is open
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_JSON_OUTPUT_H_
