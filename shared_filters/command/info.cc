#include "shared_filters/command/info.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/options.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

void Info(const Context& context) {
  const RedisFilterInfo info = InfoOf(OpenFilter(context.options).get());
  context.console->AddAll(InfoAsJson(info));
  InfoAsText(info, context.console);
  // A filter with many probes may be meant to have more than half of its bits
  // set.
  const bool overfull =
      info.expected_keys > 0
          ? info.keys_estimate > 1.1 * static_cast<double>(info.expected_keys)
          : info.occupancy > 0.5;
  if (overfull) {
    context.console->Error(context.who + ": " + info.name +
                           ": overfull: rebuild it, or move to a larger one");
  }
}

}  // namespace

RedisFilterInfo InfoOf(RedisFilter* filter) {
  RedisFilterInfo info;
  Check(filter->Info(&info));
  return info;
}

Json InfoAsJson(const RedisFilterInfo& info) {
  const int64_t expires_in_ms = info.expires_in.count();
  return {{"name", info.name},
          {"scheme", info.scheme},
          {"bits", info.bits},
          {"probes", info.probes},
          {"hashes", TextOrNull(Joined(info.hashes))},
          {"doubled_string", info.doubled_string},
          {"adopted", info.adopted},
          {"own_writers_only", info.own_writers_only},
          {"durable", info.durable},
          {"verified", info.verified},
          {"shards", info.shards},
          {"expected_keys", info.expected_keys},
          {"expires_in_ms", expires_in_ms < 0 ? Json() : Json(expires_in_ms)},
          {"rebuilding", info.rebuilding},
          {"rebuilds", info.rebuilds},
          {"stored_bytes", info.stored_bytes},
          {"set_bits", info.set_bits},
          {"occupancy", info.occupancy},
          {"keys_estimate", info.keys_estimate},
          {"false_positive_rate", info.false_positive_rate}};
}

void InfoAsText(const RedisFilterInfo& info, Console* console) {
  const auto line = [console](std::string label, const std::string& value) {
    label.resize(17, ' ');
    console->Line(label + value);
  };
  const auto text = [](uint64_t number) { return std::to_string(number); };
  const bool full = !std::isfinite(info.keys_estimate);
  const double seconds = std::chrono::duration<double>(info.expires_in).count();
  line("name", info.name + (info.adopted ? " (adopted)" : ""));
  line("scheme", info.scheme + (info.hashes.empty() ? "" : " ") +
                     Joined(info.hashes) +
                     (info.doubled_string ? ", the string twice" : ""));
  line("bits", text(info.bits) + ", " + text(info.probes) + " per key");
  if (info.shards > 1) line("shards", text(info.shards));
  line("stored bytes", text(info.stored_bytes));
  line(
      "keys",
      (full
           ? "unknown, as all bits are set"
           : "about " + text(static_cast<uint64_t>(info.keys_estimate + 0.5))) +
          (info.expected_keys == 0 ? ""
                                   : ", made for " + text(info.expected_keys)));
  line("set bits", text(info.set_bits) + " (" + Percent(info.occupancy) + ")");
  line("false positives", Percent(info.false_positive_rate));
  line("expires", seconds < 0 ? "never" : Format("in %.3f s", seconds));
  line("rebuilds", std::to_string(info.rebuilds) +
                       (info.rebuilding ? ", one is running" : ""));
  line("verified", info.verified ? "yes" : "no: " + info.unverified);
}

Command InfoCommand() {
  Command command = {"info", "Print size, fill and rate", [](CLI::App* app) {
                       return AddAction(app, {AddAdoptOptions}, Info);
                     }};
  command.manual = ManualOf(
      R"(
Prints scheme and size of a filter, how many bits are set, how many keys and
which false-positive rate follow from that, and whether it is verified: whether
the server is known to have every key. Counting the bits of a large filter keeps
the server busy for a while.)",
      {{"deltabloom-shared info users", "as text"},
       {"deltabloom-shared info users --json | jq .false_positive_rate",
        "for a program"}});
  return command;
}

}  // namespace deltabloom::tools
