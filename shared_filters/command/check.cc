#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/keys.h"
#include "shared_filters/command/options.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

void AddCheckOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("--only", options->only,
                  "absent or may-match: print the keys of this answer and "
                  "nothing else, as they were read")
      ->type_name("ANSWER")
      ->check(CLI::IsMember({"absent", "may-match"}));
  app->add_flag("--fail-closed", options->fail_closed,
                "If Redis is away, or may have lost keys: an error, instead "
                "of the answer may match");
}

// Redis is away, or may have lost keys: the keys may match. Other errors are
// the user's: a wrong name, password or scheme.
bool FailsOpen(RedisError error) {
  constexpr RedisError kAll[] = {
      RedisError::kUnavailable, RedisError::kTimeout, RedisError::kCircuitOpen,
      RedisError::kClusterDown, RedisError::kMissing, RedisError::kUnverified,
      RedisError::kWrongSize};
  return std::find(std::begin(kAll), std::end(kAll), error) != std::end(kAll);
}

void CheckKeys(const Context& context) {
  const SharedOptions& options = context.options;
  Console* const console = context.console;
  uint64_t checked = 0, absent = 0, failed_open = 0;
  bool noted = false;
  // Says once why keys may match that were not looked up.
  const auto fail_open = [&](const RedisStatus& status, uint64_t keys) {
    if (options.fail_closed || !FailsOpen(status.error)) Check(status);
    if (!noted) {
      console->Error(context.who + ": " + status.message +
                     "; all these keys may match (--fail-closed makes it an "
                     "error)");
    }
    noted = true;
    failed_open += keys;
  };
  const auto show = [&](std::string_view key, bool may_match) {
    if (!options.only.empty() &&
        options.only != (may_match ? "may-match" : "absent")) {
      return;
    }
    const char* const answer = may_match ? "may match" : "absent";
    if (console->is_json()) {
      console->AddElement({{"key", std::string(key)}, {"answer", answer}});
    } else if (!options.only.empty()) {
      console->Raw(key, options.null ? '\0' : '\n');
    } else {
      console->Line((may_match ? "may match  " : "absent     ") +
                    std::string(key));
    }
  };
  FilterPtr filter;
  const RedisStatus opened = TryToOpen(options, &filter);
  if (!opened.ok()) fail_open(opened, 0);
  const auto reader = OpenKeys(context);
  console->StartArray("keys");
  ForEachBatch(
      context, reader.get(), [&](const std::string_view* keys, size_t n) {
        bool may_match[kMaxBatch];
        std::fill_n(may_match, n, true);
        const RedisStatus status =
            filter == nullptr ? opened : filter->Check(keys, n, may_match);
        if (!status.ok()) fail_open(status, n);
        for (size_t i = 0; i < n; ++i) show(keys[i], may_match[i]);
        checked += n;
        absent +=
            static_cast<uint64_t>(std::count(may_match, may_match + n, false));
      });
  console->AddAll(
      {{"checked", checked}, {"absent", absent}, {"failed_open", failed_open}});
  if (options.only.empty() && checked != 1) {
    console->Line(std::to_string(checked) + " keys: " + std::to_string(absent) +
                  " absent, " + std::to_string(checked - absent) +
                  " may match");
  }
}

}  // namespace

Command CheckCommand() {
  Command command = {
      "check", "Look up keys", [](CLI::App* app) {
        return AddAction(app, {AddKeyOptions, AddCheckOptions, AddAdoptOptions},
                         CheckKeys);
      }};
  command.manual = ManualOf(
      R"(
Looks up the keys of a file, or of standard input, or of the command line.

It fails open: if Redis does not answer, the filter or its bits are lost, or
Redis restarted or failed over, and it was not confirmed since that no key is
lost, keys may match, and standard error says why; --fail-closed makes it an
error.

With --json the document has "keys", each with "key" and "answer" (absent, may
match), and the counts "checked", "absent" and "failed_open".)",
      {{"deltabloom-shared check users --key alice", "one key"},
       {"deltabloom-shared check users --only absent < ids.txt > unknown.txt",
        "the keys that certainly were not added"},
       {"deltabloom-shared check seen --key a --adopt --scheme go-murmur3-14 "
        "--bits 20000000",
        "a bitmap that go-zero fills"}},
      "every key has an answer, perhaps because it failed open");
  return command;
}

}  // namespace deltabloom::tools
