#include "tools/deltabloom/shared_actions.h"

#include <cstdio>

namespace deltabloom::tools {
namespace {

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %%", share * 100);
  return text;
}

std::string Seconds(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s",
                std::chrono::duration<double>(time).count());
  return text;
}

uint64_t Milliseconds(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(time.count());
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

void InfoAsJson(const RedisFilterInfo& info, JsonOutput* json) {
  json->Text("name", info.name);
  json->Text("scheme", info.scheme);
  json->Number("bits", info.bits);
  json->Number("probes", uint64_t{info.probes});
  if (!info.hashes.empty()) json->Text("hashes", Joined(info.hashes));
  json->Boolean("doubled_string", info.doubled_string);
  json->Boolean("adopted", info.adopted);
  json->Boolean("own_writers_only", info.own_writers_only);
  json->Boolean("durable", info.durable);
  json->Boolean("verified", info.verified);
  json->Number("shards", uint64_t{info.shards});
  json->Number("expected_keys", info.expected_keys);
  if (info.expires_in.count() < 0) {
    json->Null("expires_in_ms");
  } else {
    json->Number("expires_in_ms", Milliseconds(info.expires_in));
  }
  json->Boolean("rebuilding", info.rebuilding);
  json->Number("rebuilds", info.rebuilds);
  json->Number("stored_bytes", info.stored_bytes);
  json->Number("set_bits", info.set_bits);
  json->Number("occupancy", info.occupancy);
  json->Number("keys_estimate", info.keys_estimate);
  json->Number("false_positive_rate", info.false_positive_rate);
}

void InfoAsText(const RedisFilterInfo& info, Console* console) {
  const auto line = [console](std::string label, const std::string& value) {
    label.resize(17, ' ');
    console->Line(label + value);
  };
  std::string scheme = info.scheme;
  if (!info.hashes.empty()) scheme += " " + Joined(info.hashes);
  if (info.doubled_string) scheme += ", the string twice";
  line("name", info.name + (info.adopted ? " (adopted)" : ""));
  line("scheme", scheme);
  line("bits", std::to_string(info.bits) + ", " + std::to_string(info.probes) +
                   " per key");
  if (info.shards > 1) {
    line("shards", std::to_string(info.shards));
  }
  line("stored bytes", std::to_string(info.stored_bytes));
  line("keys",
       "about " +
           std::to_string(static_cast<uint64_t>(info.keys_estimate + 0.5)) +
           (info.expected_keys == 0
                ? ""
                : ", made for " + std::to_string(info.expected_keys)));
  line("set bits",
       std::to_string(info.set_bits) + " (" + Percent(info.occupancy) + ")");
  line("false positives", Percent(info.false_positive_rate));
  line("expires", info.expires_in.count() < 0
                      ? "never"
                      : "in " + Seconds(info.expires_in));
  line("rebuilds", std::to_string(info.rebuilds) +
                       (info.rebuilding ? ", one is running" : ""));
  line("verified", info.verified ? "yes" : "no: " + info.unverified);
}

RedisStatus CheckSize(const SharedOptions& options) {
  const RedisFilterOptions& filter = options.filter;
  if (filter.expected_keys > 0 || filter.bits > 0 ||
      filter.scheme == "php-named-hashes") {
    return {};
  }
  return {RedisError::kInvalidArgument,
          filter.name + ": how large? Give --keys, or --bits and --probes"};
}

}  // namespace

RedisStatus OpenFilter(const SharedOptions& options,
                       std::unique_ptr<RedisFilter>* filter) {
  if (!options.adopt) {
    return RedisFilter::Open(options.redis, options.filter.name, filter);
  }
  const RedisStatus status = CheckSize(options);
  return status.ok() ? RedisFilter::Adopt(options.redis, options.filter, filter)
                     : status;
}

ExitCode Fail(const SharedContext& context, const RedisStatus& status) {
  if (status.error == RedisError::kCancelled) throw Interrupted();
  context.console->Error(context.who + ": " + status.message);
  return status.error == RedisError::kInvalidArgument ? kUsage : kFailure;
}

void Report(const SharedContext& context, const std::string& name,
            const std::string& result) {
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", name);
    json->Text("result", result);
  } else {
    context.console->Line(name + ": " + result);
  }
}

RedisRebuildOptions RebuildOptions(const SharedContext& context) {
  RedisRebuildOptions options = context.options.rebuild;
  options.progress = [context](uint64_t done, uint64_t all) {
    context.console->ShowProgress(done, all, "bytes",
                                  context.options.filter.name);
  };
  options.cancelled = [context] { return context.interrupt->Came(); };
  return options;
}

ExitCode SharedCreate(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = CheckSize(context.options);
  if (status.ok()) {
    status = RedisFilter::Create(context.options.redis, context.options.filter,
                                 &filter);
  }
  RedisFilterInfo info;
  if (status.ok()) {
    status = filter->Info(&info);
    // It has no bits yet, and that is as it should be.
    if (context.options.filter.filled_by_rebuild &&
        status.error == RedisError::kMissing) {
      status = {};
    }
  }
  if (!status.ok()) return Fail(context, status);
  if (JsonOutput* json = context.console->json()) {
    json->Text("result", "created");
    InfoAsJson(info, json);
  } else {
    context.console->Line(info.name + ": created: " + info.scheme + ", " +
                          std::to_string(info.bits) + " bits, " +
                          std::to_string(info.probes) + " per key");
    if (!info.own_writers_only) {
      context.console->Line(
          "Other programs may write it: a rebuild only adds keys, unless "
          "--writers-stopped is given (see --own-writers-only)");
    }
  }
  return kSuccess;
}

ExitCode SharedInfo(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisFilterInfo info;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (status.ok()) status = filter->Info(&info);
  if (!status.ok()) return Fail(context, status);
  if (JsonOutput* json = context.console->json()) {
    InfoAsJson(info, json);
  } else {
    InfoAsText(info, context.console);
  }
  // With many probes more than half of the bits may be meant to be set.
  const bool overfull =
      info.expected_keys > 0
          ? info.keys_estimate > 1.1 * static_cast<double>(info.expected_keys)
          : info.occupancy > 0.5;
  if (overfull) {
    context.console->Error(context.who + ": " + info.name +
                           ": overfull: rebuild it, or move to a larger one");
  }
  return kSuccess;
}

ExitCode SharedConfirm(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (status.ok()) status = filter->Confirm();
  if (!status.ok()) return Fail(context, status);
  Report(context, context.options.filter.name, "confirmed");
  return kSuccess;
}

ExitCode SharedMove(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (status.ok()) status = filter->MoveTo(context.options.to);
  if (!status.ok()) return Fail(context, status);
  Report(context, context.options.filter.name,
         "moved to " + context.options.to);
  return kSuccess;
}

ExitCode SharedDelete(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (status.ok()) status = filter->Delete();
  if (!status.ok()) return Fail(context, status);
  Report(context, context.options.filter.name, "deleted");
  return kSuccess;
}

}  // namespace deltabloom::tools
