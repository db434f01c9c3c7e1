#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/keys.h"
#include "shared_filters/command/options.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

// Adds the keys. *added and *fresh, those of them that are new, grow as they
// are in. Many keys for the size of the filter go in as one bitmap that is
// merged into the filter's: much faster than a script for each thousand.
RedisStatus AddTogether(const Context& context,
                        const std::vector<std::string_view>& keys,
                        RedisFilter* filter, uint64_t* added, uint64_t* fresh) {
  constexpr size_t kMinKeys = 10000;
  constexpr uint64_t kMaxBytesPerKey = 64;
  RedisRebuildOptions options = RebuildOptions(context);
  options.keep_keys = true;
  RedisFilterInfo info;
  std::string bits;
  std::unique_ptr<RedisRebuild> bulk;
  if (keys.size() >= kMinKeys && filter->Info(&info).ok() &&
      info.stored_bytes / kMaxBytesPerKey <= keys.size() &&
      filter->ReadBits(&bits).ok() &&
      filter->StartRebuild(options, &bulk).ok()) {
    bulk->AddBits(bits);  // they tell which keys are new
    uint64_t set = 0;
    for (const std::string_view key : keys) set += bulk->Add(key) ? 1 : 0;
    const RedisStatus status = bulk->Finish();
    if (status.ok()) {
      *added += keys.size();
      *fresh += set;
    }
    return status;
  }
  RedisStatus status;
  ForEachBatch(context, keys, [&](const std::string_view* some, size_t n) {
    bool is_new[kMaxBatch];
    if (status.ok()) status = filter->Add(some, n, is_new);
    if (status.ok()) {
      *added += n;
      *fresh += static_cast<uint64_t>(std::count(is_new, is_new + n, true));
    }
  });
  return status;
}

void Add(const Context& context) {
  const FilterPtr filter = OpenFilter(context.options);
  const auto reader = OpenKeys(context);
  uint64_t added = 0;
  uint64_t fresh = 0;
  RedisStatus status;
  try {
    while (status.ok()) {
      const auto& keys = reader->Next(std::chrono::milliseconds(1000));
      if (keys.empty()) break;
      status = AddTogether(context, keys, filter.get(), &added, &fresh);
      ShowKeys(*reader, context.console);
    }
  } catch (const std::exception&) {
    context.console->Error(context.who + ": " + Keys(added) +
                           " added; to add them again does no harm");
    throw;
  }
  Report(context, {{"added", added}, {"new", fresh}},
         Keys(added) + " added, " + std::to_string(fresh) + " of them new");
  Check(status);
}

}  // namespace

Command AddCommand() {
  Command command = {
      "add", "Add keys", [](CLI::App* app) {
        return AddAction(app, {AddKeyOptions, AddAdoptOptions}, Add);
      }};
  command.manual = ManualOf(
      R"(
Adds the keys of a file, or of standard input, or of the command line. What it
reads within a second goes in together, up to 64 MiB: a pause in a pipe adds what
has come. If it is interrupted, the keys before are in, and standard error says
how many; to add keys again does no harm.

With --json the document has "name", "added" and "new".)",
      {{"deltabloom-shared add users ids.txt",
        "the keys of a file, one per line"},
       {"deltabloom-shared add users --key alice", "one key"}});
  return command;
}

}  // namespace deltabloom::tools
