#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/keys.h"
#include "shared_filters/command/options.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

void Rebuild(const Context& context) {
  const FilterPtr filter = OpenFilter(context.options);
  const auto reader = OpenKeys(context);
  std::unique_ptr<RedisRebuild> rebuild;
  Check(filter->StartRebuild(RebuildOptions(context), &rebuild));
  ForEachBatch(context, reader.get(),
               [&](const std::string_view* keys, size_t n) {
                 for (size_t i = 0; i < n; ++i) rebuild->Add(keys[i]);
               });
  if (reader->keys() == 0) {
    // The program that should have written the keys may have failed.
    Refuse(reader->name(),
           "no key: " + context.options.filter.name + " is unchanged");
  }
  RedisRebuildResult result;
  Check(rebuild->Finish(&result));
  const char* how = result.replaced ? "replaced" : "added to";
  Report(context,
         {{"result", how},
          {"keys", result.keys},
          {"set_bits", result.set_bits},
          {"uploaded_bytes", result.uploaded_bytes},
          {"upload_ms", result.upload_time.count()}},
         how + (": " + Keys(result.keys)) + ", " +
             std::to_string(result.set_bits) + " bits set");
}

}  // namespace

Command RebuildCommand() {
  Command command = {
      "rebuild", "Replace all keys by those of a file, while it is used",
      [](CLI::App* app) {
        return AddAction(
            app, {AddKeyOptions, AddRebuildOptions, AddAdoptOptions}, Rebuild);
      }};
  command.manual = ManualOf(
      R"(
Replaces all keys of a filter by those that it reads, while services look up and
add keys. If it is interrupted or killed, or reads no key, the filter is
unchanged. It cannot see that what writes into its pipe died halfway: write a
file first, and rebuild from it only if that succeeded.

With --json the document has "name", "result" (replaced, added to), "keys",
"set_bits", "uploaded_bytes" and "upload_ms".)",
      {{"dump-ids > ids.txt && deltabloom-shared rebuild users ids.txt",
        "all keys anew, without deleted ones, while services go on"}});
  return command;
}

}  // namespace deltabloom::tools
