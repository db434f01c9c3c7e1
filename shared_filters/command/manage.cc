// The commands that make, confirm, move and delete a filter.
#include <string>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/info.h"
#include "shared_filters/command/options.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

void AddCreateOptions(CLI::App* app, SharedOptions* options) {
  AddSizeOptions(app, options);
  RedisFilterOptions* filter = &options->filter;
  Adder add(app, kSizeGroup);
  add.Duration("--expire", &filter->expire_after,
               "The filter vanishes that long after its creation; default: "
               "never");
  add.Flag("--filled-by-rebuild", &filter->filled_by_rebuild,
           "Until 'rebuild' has finished, all keys may match and none can be "
           "added: for keys that exist already");
  add.Flag("--own-writers-only", &filter->own_writers_only,
           "Every program that writes the bitmap uses Deltabloom or the "
           "protocol of its adds; else a rebuild without --writers-stopped "
           "keeps all bits. local: as if given");
  add.Flag("--durable", &filter->durable,
           "A restart needs no 'confirm': the server has appendonly yes, "
           "appendfsync always, and rename-command PSYNC \"\" and SYNC \"\"");
  add.Value("--shard-bytes", &filter->shard_bytes, "N",
            "local: cut a larger filter into shards of N bytes; default: "
            "536870912");
}

void Create(const Context& context) {
  const RedisFilterOptions& options = context.options.filter;
  FilterPtr filter;
  Check(RedisFilter::Create(context.options.redis, options, &filter));
  RedisFilterInfo info;
  const RedisStatus status = filter->Info(&info);
  // A filter to be filled by a rebuild has no bits yet.
  if (!options.filled_by_rebuild || status.error != RedisError::kMissing) {
    Check(status);
  }
  context.console->Add("result", "created");
  context.console->AddAll(InfoAsJson(info));
  context.console->Line(info.name + ": created: " + info.scheme + ", " +
                        std::to_string(info.bits) + " bits, " +
                        std::to_string(info.probes) + " per key");
  if (!info.own_writers_only) {
    context.console->Line(
        "Other programs may write it: a rebuild only adds keys, unless "
        "--writers-stopped is given (see --own-writers-only)");
  }
}

void Confirm(const Context& context) {
  Check(OpenFilter(context.options)->Confirm());
  Report(context, "confirmed");
}

void AddMoveOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("NEW", options->to, "A filter that holds every key by now")
      ->required();
}

bool IsEmpty(RedisFilter* filter) {
  RedisFilterInfo info;
  return filter->Info(&info).ok() && info.set_bits == 0;
}

void Move(const Context& context) {
  const std::string& to = context.options.to;
  const FilterPtr filter = OpenFilter(context.options);
  FilterPtr target;
  if (RedisFilter::Open(context.options.redis, to, &target).ok() &&
      IsEmpty(target.get()) && !IsEmpty(filter.get())) {
    Refuse(to, "has no key: fill it before its users come");
  }
  Check(filter->MoveTo(to));
  Report(context, "moved to " + to);
}

void Delete(const Context& context) {
  Check(OpenFilter(context.options)->Delete());
  Report(context, "deleted");
}

}  // namespace

Command CreateCommand() {
  Command command = {"create", "Make a filter", [](CLI::App* app) {
                       return AddAction(app, {AddCreateOptions}, Create);
                     }};
  command.manual = ManualOf(
      R"(
Makes an empty filter. Other commands then need its name only. The size is chosen
for --keys at --rate, or given by --bits and --probes.

With --json the document has "result" and all that 'info' prints.)",
      {{"deltabloom-shared create users --keys 10000000 --rate 0.01",
        "a filter for ten million keys"},
       {"deltabloom-shared create users --keys 10000000 --filled-by-rebuild && "
        "deltabloom-shared rebuild users ids.txt",
        "for keys that exist already: until the rebuild has finished, all keys "
        "may match"}});
  return command;
}

Command ConfirmCommand() {
  Command command = {"confirm",
                     "Declare that Redis lost no key in a restart or failover",
                     [](CLI::App* app) { return AddAction(app, {}, Confirm); }};
  command.manual = ManualOf(
      R"(
After a restart or a failover of Redis all keys of a filter may match, because
the server may have lost some. This command says that it lost none, such as after
a planned restart with SHUTDOWN SAVE. If that is wrong, lost keys are absent: then
rebuild the filter instead.

After a failover first make sure that no client can reach the old master: it
lacks newer keys.)",
      {{"deltabloom-shared confirm users", "after a planned restart"}});
  return command;
}

Command MoveCommand() {
  Command command = {
      "move", "Send its users to another filter, delete its bits",
      [](CLI::App* app) { return AddAction(app, {AddMoveOptions}, Move); }};
  command.manual = ManualOf(
      R"(
Sends everyone who uses the filter NAME to the filter NEW, which must hold every
key by now, and deletes the bits of NAME: for another size or scheme.)",
      {{"deltabloom-shared move users users2", "users2 was filled before"}});
  return command;
}

Command DeleteCommand() {
  Command command = {
      "delete", "Delete a filter, or a bitmap of others",
      [](CLI::App* app) { return AddAction(app, {AddAdoptOptions}, Delete); }};
  command.manual = ManualOf(
      R"(
Deletes a filter. Services that still ask it get the answer that every key may
match.)",
      {{"deltabloom-shared delete users", "its bits and its descriptor"}});
  return command;
}

}  // namespace deltabloom::tools
