// What the actions of deltabloom shared do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "tools/deltabloom/guava_file.h"
#include "tools/deltabloom/key_reader.h"
#include "tools/deltabloom/shared.h"

namespace deltabloom::tools {
namespace {

std::string ThreeDigits(double share) {
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

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

Json InfoAsJson(const RedisFilterInfo& info) {
  Json json = {{"name", info.name},
               {"scheme", info.scheme},
               {"bits", info.bits},
               {"probes", info.probes}};
  if (!info.hashes.empty()) json["hashes"] = Joined(info.hashes);
  json["doubled_string"] = info.doubled_string;
  json["adopted"] = info.adopted;
  json["own_writers_only"] = info.own_writers_only;
  json["durable"] = info.durable;
  json["verified"] = info.verified;
  json["shards"] = info.shards;
  json["expected_keys"] = info.expected_keys;
  json["expires_in_ms"] = nullptr;
  if (info.expires_in.count() >= 0) {
    json["expires_in_ms"] = info.expires_in.count();
  }
  json["rebuilding"] = info.rebuilding;
  json["rebuilds"] = info.rebuilds;
  json["stored_bytes"] = info.stored_bytes;
  json["set_bits"] = info.set_bits;
  json["occupancy"] = info.occupancy;
  json["keys_estimate"] = info.keys_estimate;
  json["false_positive_rate"] = info.false_positive_rate;
  return json;
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
  line("set bits", std::to_string(info.set_bits) + " (" +
                       ThreeDigits(info.occupancy) + ")");
  line("false positives", ThreeDigits(info.false_positive_rate));
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

// The filter that the options name: opened, or adopted.
RedisStatus OpenFilter(const SharedOptions& options,
                       std::unique_ptr<RedisFilter>* filter) {
  if (!options.adopt) {
    return RedisFilter::Open(options.redis, options.filter.name, filter);
  }
  const RedisStatus status = CheckSize(options);
  return status.ok() ? RedisFilter::Adopt(options.redis, options.filter, filter)
                     : status;
}

// Reports the failure on standard error and returns the exit code.
ExitCode Fail(const SharedContext& context, const RedisStatus& status) {
  if (status.error == RedisError::kCancelled) throw Interrupted();
  context.console->Error(context.who + ": " + status.message);
  return status.error == RedisError::kInvalidArgument ? kUsage : kFailure;
}

// The result: members of the document, or a line.
ExitCode Report(const SharedContext& context, const Json& members,
                const std::string& line) {
  if (JsonOutput* json = context.console->json()) {
    for (const auto& [key, value] : members.items()) json->Add(key, value);
  } else {
    context.console->Line(line);
  }
  return kSuccess;
}

ExitCode Report(const SharedContext& context, const std::string& result) {
  const std::string& name = context.options.filter.name;
  return Report(context, {{"name", name}, {"result", result}},
                name + ": " + result);
}

// Progress and interruption for a rebuild.
RedisRebuildOptions RebuildOptions(const SharedContext& context) {
  RedisRebuildOptions options = context.options.rebuild;
  options.progress = [context](uint64_t done, uint64_t all) {
    context.console->ShowProgress(done, all, "bytes",
                                  context.options.filter.name);
  };
  options.cancelled = [context] { return context.interrupt->Came(); };
  return options;
}

}  // namespace

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
    Report(context, InfoAsJson(info), "");
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
  if (context.console->json() != nullptr) {
    Report(context, InfoAsJson(info), "");
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

namespace {

// Opens the filter and does one thing with it.
template <typename Do>
ExitCode OpenAndDo(const SharedContext& context, const std::string& result,
                   Do what) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (status.ok()) status = what(filter.get());
  return status.ok() ? Report(context, result) : Fail(context, status);
}

}  // namespace

ExitCode SharedConfirm(const SharedContext& context) {
  return OpenAndDo(context, "confirmed",
                   [](RedisFilter* filter) { return filter->Confirm(); });
}

ExitCode SharedMove(const SharedContext& context) {
  return OpenAndDo(
      context, "moved to " + context.options.to,
      [&](RedisFilter* filter) { return filter->MoveTo(context.options.to); });
}

ExitCode SharedDelete(const SharedContext& context) {
  return OpenAndDo(context, "deleted",
                   [](RedisFilter* filter) { return filter->Delete(); });
}

namespace {

// Keys.

std::unique_ptr<KeyReader> OpenKeys(const SharedContext& context) {
  const SharedOptions& options = context.options;
  if (!options.keys.empty()) return std::make_unique<KeyReader>(options.keys);
  return std::make_unique<KeyReader>(
      options.keys_from, options.null ? '\0' : '\n', context.interrupt);
}

void ShowKeys(const KeyReader& reader, Console* console) {
  if (reader.bytes_all() > 0) {
    console->ShowProgress(reader.bytes_done(), reader.bytes_all(), "bytes",
                          reader.name());
  } else {
    console->ShowProgress(reader.keys(), Progress::kUnknown, "keys",
                          reader.name());
  }
}

std::string Keys(uint64_t n) { return Count(n, "key", "keys"); }

// Redis is away, or may have lost keys: the keys may match. Other errors are
// the user's: a wrong name, password or scheme.
bool FailsOpen(RedisError error) {
  switch (error) {
    case RedisError::kUnavailable:
    case RedisError::kTimeout:
    case RedisError::kCircuitOpen:
    case RedisError::kClusterDown:
    case RedisError::kMissing:
    case RedisError::kUnverified:
    case RedisError::kWrongSize:
      return true;
    default:
      return false;
  }
}

// Answers, one per key, and the counts.
class Answers {
 public:
  explicit Answers(const SharedContext& context)
      : console_(context.console), options_(context.options) {
    if (JsonOutput* json = console_->json()) {
      json->StartArray("keys");
    }
  }

  void Add(std::string_view key, bool may_match) {
    ++checked_;
    absent_ += may_match ? 0 : 1;
    const char* answer = may_match ? "may match" : "absent";
    if (!options_.only.empty()) {
      if (options_.only != (may_match ? "may-match" : "absent")) return;
      if (console_->json() == nullptr) {
        console_->Raw(key, options_.null ? '\0' : '\n');
        return;
      }
    }
    if (JsonOutput* json = console_->json()) {
      json->AddElement({{"key", std::string(key)}, {"answer", answer}});
    } else {
      console_->Line(std::string(may_match ? "may match  " : "absent     ") +
                     std::string(key));
    }
  }

  void Summary(uint64_t failed_open) {
    if (JsonOutput* json = console_->json()) {
      json->Number("checked", checked_);
      json->Number("absent", absent_);
      json->Number("failed_open", failed_open);
    } else if (options_.only.empty() && checked_ != 1) {
      console_->Line(std::to_string(checked_) +
                     " keys: " + std::to_string(absent_) + " absent, " +
                     std::to_string(checked_ - absent_) + " may match");
    }
  }

 private:
  Console* const console_;
  const SharedOptions& options_;
  uint64_t checked_ = 0;
  uint64_t absent_ = 0;
};

// Says once why keys may match that nobody looked up.
class FailOpen {
 public:
  explicit FailOpen(const SharedContext& context) : context_(context) {}

  void Note(const RedisStatus& status, uint64_t keys) {
    if (keys_ == 0 && !noted_) {
      context_.console->Error(context_.who + ": " + status.message +
                              "; all these keys may match (--fail-closed makes "
                              "it an error)");
      noted_ = true;
    }
    keys_ += keys;
  }
  uint64_t keys() const { return keys_; }

 private:
  const SharedContext& context_;
  bool noted_ = false;
  uint64_t keys_ = 0;
};

// Prepares to add keys by one bitmap that is merged into the filter's: much
// faster than a script for each thousand. Null if keys of so many bytes are too
// few for that, or the filter cannot take it now.
std::unique_ptr<RedisRebuild> StartBulk(uint64_t bytes, RedisFilter* filter,
                                        RedisRebuildOptions options) {
  constexpr uint64_t kMinBytes = 100000;
  RedisFilterInfo info;
  std::string bits;
  std::unique_ptr<RedisRebuild> bulk;
  options.keep_keys = true;
  // The bits that are set already tell which keys are new.
  if (bytes < kMinBytes || !filter->Info(&info).ok() ||
      info.stored_bytes / 8 > bytes || !filter->ReadBits(&bits).ok() ||
      !filter->StartRebuild(options, &bulk).ok() || !bulk->AddBits(bits)) {
    return nullptr;
  }
  return bulk;
}

// Keys of a pipe that are added together: those that arrive within a second, as
// long as they keep coming. False at the end of the input.
bool ReadTogether(const SharedContext& context, KeyReader* reader,
                  std::vector<std::string>* keys, uint64_t* bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  constexpr std::chrono::seconds kMost{1};
  constexpr size_t kMaxKeys = 2000000;
  constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
  keys->clear();
  *bytes = 0;
  Clock::time_point start;
  do {
    const auto& more = reader->Next();
    if (keys->empty()) start = Clock::now();
    if (more.empty()) return false;
    for (const std::string_view key : more) *bytes += key.size() + 1;
    keys->insert(keys->end(), more.begin(), more.end());
    ShowKeys(*reader, context.console);
  } while (keys->size() < kMaxKeys && *bytes < kMaxBytes &&
           Clock::now() - start < kMost && reader->HasMoreWithin(kPause));
  return true;
}

// Adds the keys; *fresh: of them new, added to.
RedisStatus AddTogether(const SharedContext& context,
                        const std::vector<std::string>& keys, uint64_t bytes,
                        RedisFilter* filter, uint64_t* fresh) {
  if (const auto bulk = StartBulk(bytes, filter, RebuildOptions(context))) {
    for (const std::string& key : keys) *fresh += bulk->Add(key) ? 1 : 0;
    return bulk->Finish();
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto is_new = std::make_unique<bool[]>(KeyReader::kMaxBatch);
  for (size_t at = 0; at < views.size(); at += KeyReader::kMaxBatch) {
    const size_t n = std::min(views.size() - at, KeyReader::kMaxBatch);
    const RedisStatus status = filter->Add(&views[at], n, is_new.get());
    if (!status.ok()) return status;
    *fresh +=
        static_cast<uint64_t>(std::count(is_new.get(), is_new.get() + n, true));
  }
  return {};
}

}  // namespace

ExitCode SharedAdd(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (!status.ok()) return Fail(context, status);
  const auto reader = OpenKeys(context);
  uint64_t added = 0;
  uint64_t fresh = 0;
  try {
    if (const auto bulk = StartBulk(reader->bytes_all(), filter.get(),
                                    RebuildOptions(context))) {
      for (;;) {
        const auto& keys = reader->Next();
        if (keys.empty()) break;
        for (const std::string_view key : keys) fresh += bulk->Add(key) ? 1 : 0;
        ShowKeys(*reader, context.console);
      }
      status = bulk->Finish();
      if (!status.ok()) return Fail(context, status);
      added = reader->keys();
    } else {
      std::vector<std::string> keys;
      uint64_t bytes = 0;
      for (bool more = true; more && status.ok();) {
        more = ReadTogether(context, reader.get(), &keys, &bytes);
        status = AddTogether(context, keys, bytes, filter.get(), &fresh);
        if (status.ok()) added += keys.size();
      }
    }
  } catch (const std::exception&) {
    context.console->Error(context.who + ": " + Keys(added) +
                           " added; to add them again does no harm");
    throw;
  }
  const std::string& name = context.options.filter.name;
  Report(context, {{"name", name}, {"added", added}, {"new", fresh}},
         name + ": " + Keys(added) + " added, " + std::to_string(fresh) +
             " of them new");
  return status.ok() ? kSuccess : Fail(context, status);
}

ExitCode SharedCheck(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus opened = OpenFilter(context.options, &filter);
  const bool fail_open = !context.options.fail_closed;
  FailOpen failures(context);
  if (!opened.ok()) {
    if (!fail_open || !FailsOpen(opened.error)) return Fail(context, opened);
    failures.Note(opened, 0);
  }
  const auto reader = OpenKeys(context);
  Answers answers(context);
  const auto may_match = std::make_unique<bool[]>(KeyReader::kMaxBatch);
  for (;;) {
    const auto& keys = reader->Next();
    if (keys.empty()) break;
    for (size_t at = 0; at < keys.size();) {
      const size_t n = std::min(keys.size() - at, KeyReader::kMaxBatch);
      const RedisStatus status =
          filter == nullptr
              ? opened
              : filter->Check(keys.data() + at, n, may_match.get());
      if (!status.ok()) {
        if (!fail_open || !FailsOpen(status.error)) {
          return Fail(context, status);
        }
        failures.Note(status, n);
        if (filter == nullptr) std::fill_n(may_match.get(), n, true);
      }
      for (size_t i = 0; i < n; ++i) answers.Add(keys[at + i], may_match[i]);
      at += n;
    }
    ShowKeys(*reader, context.console);
  }
  answers.Summary(failures.keys());
  return kSuccess;
}

ExitCode SharedRebuild(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  std::unique_ptr<RedisRebuild> rebuild;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (!status.ok()) return Fail(context, status);
  const auto reader = OpenKeys(context);
  status = filter->StartRebuild(RebuildOptions(context), &rebuild);
  if (!status.ok()) return Fail(context, status);
  for (;;) {
    const auto& keys = reader->Next();
    if (keys.empty()) break;
    for (const std::string_view key : keys) rebuild->Add(key);
    ShowKeys(*reader, context.console);
  }
  RedisRebuildResult result;
  status = rebuild->Finish(&result);
  if (!status.ok()) return Fail(context, status);
  const char* how = result.replaced ? "replaced" : "added to";
  const std::string& name = context.options.filter.name;
  return Report(context,
                {{"name", name},
                 {"result", how},
                 {"keys", result.keys},
                 {"set_bits", result.set_bits},
                 {"uploaded_bytes", result.uploaded_bytes},
                 {"upload_ms", result.upload_time.count()}},
                name + ": " + how + ": " + Keys(result.keys) + ", " +
                    std::to_string(result.set_bits) + " bits set");
}

namespace {

// Files of Guava.

constexpr char kGuavaHelper[] = "guava-helper";

// Why the filter has no Guava bytes, or nothing.
std::string WhyNotGuava(const RedisFilterInfo& info) {
  if (info.scheme != kGuavaHelper) {
    return "its scheme is " + info.scheme + ": only " + kGuavaHelper +
           " has Guava's bits";
  }
  if (info.doubled_string) return "its funnel puts the string twice";
  if (info.bits % 64 != 0) {
    return "it has " + std::to_string(info.bits) +
           " bits: Guava's filters have a multiple of 64";
  }
  return "";
}

// Why the filter cannot hold the bits of the file, or nothing.
std::string WhyNot(const RedisFilterInfo& info, const GuavaFilter& guava) {
  std::string why = WhyNotGuava(info);
  if (why.empty() &&
      (info.bits != guava.Bits() || info.probes != guava.HashFunctions())) {
    why = "it has " + std::to_string(info.bits) + " bits and " +
          std::to_string(info.probes) + " per key, the file " +
          std::to_string(guava.Bits()) + " and " +
          std::to_string(guava.HashFunctions());
  }
  return why;
}

ExitCode Refuse(const SharedContext& context, const std::string& what,
                const std::string& why) {
  context.console->Error(context.who + ": " + what + ": " + why);
  return kFailure;
}

// Puts the bits in the place of all that the filter has.
RedisStatus Replace(const SharedContext& context, std::string_view bits,
                    RedisFilter* filter, RedisRebuildResult* result) {
  std::unique_ptr<RedisRebuild> rebuild;
  const RedisStatus status =
      filter->StartRebuild(RebuildOptions(context), &rebuild);
  if (!status.ok()) return status;
  rebuild->AddBits(bits);  // of the right size: the caller has compared
  return rebuild->Finish(result);
}

// Opens the filter that is there, or makes one.
RedisStatus OpenOrCreate(const SharedOptions& options, bool* created,
                         std::unique_ptr<RedisFilter>* filter) {
  *created = false;
  if (options.replace || options.adopt) return OpenFilter(options, filter);
  RedisFilterOptions filter_options = options.filter;
  filter_options.filled_by_rebuild = true;
  const RedisStatus status =
      RedisFilter::Create(options.redis, filter_options, filter);
  *created = status.ok();
  return status;
}

}  // namespace

ExitCode SharedExport(const SharedContext& context) {
  const SharedOptions& options = context.options;
  if (options.file == "-" && context.console->json() != nullptr) {
    context.console->Error(context.who + ": --json does not go with -");
    return kUsage;
  }
  std::unique_ptr<RedisFilter> filter;
  RedisFilterInfo info;
  RedisStatus status = OpenFilter(options, &filter);
  if (status.ok()) status = filter->Info(&info);
  if (!status.ok()) return Fail(context, status);
  const std::string why = WhyNotGuava(info);
  if (!why.empty()) return Refuse(context, options.filter.name, why);
  std::string bits;
  status = filter->ReadBits(&bits);
  if (!status.ok()) return Fail(context, status);
  context.interrupt->Check();
  const std::string bytes = GuavaBytes(bits, info.probes);
  WriteWholeFile(options.file, bytes);
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", options.filter.name);
    json->Text("file", options.file);
    json->Number("bytes", uint64_t{bytes.size()});
  } else if (options.file != "-") {
    context.console->Line(options.file + ": " + std::to_string(bytes.size()) +
                          " bytes of " + options.filter.name);
  }
  return kSuccess;
}

ExitCode SharedImport(const SharedContext& context) {
  const std::string bytes = ReadWholeFile(context.options.file);
  std::string error;
  const auto guava = GuavaFilter::FromBytes(bytes, &error);
  if (guava == nullptr) return Refuse(context, context.options.file, error);
  if (guava->Strategy() != GuavaStrategy::kMurmur128Mitz32) {
    return Refuse(context, context.options.file,
                  std::string("its strategy is ") +
                      GuavaStrategyName(guava->Strategy()) +
                      ": bitmaps in Redis have MURMUR128_MITZ_32");
  }
  SharedOptions options = context.options;
  options.filter.scheme = kGuavaHelper;
  options.filter.bits = guava->Bits();
  options.filter.probes = guava->HashFunctions();
  const std::string invalid = options.filter.Validate();
  if (!invalid.empty()) return Refuse(context, options.file, invalid);

  bool created = false;
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenOrCreate(options, &created, &filter);
  if (!status.ok()) return Fail(context, status);
  if (options.replace) {
    RedisFilterInfo info;
    status = filter->Info(&info);
    if (!status.ok()) return Fail(context, status);
    const std::string why = WhyNot(info, *guava);
    if (!why.empty()) return Refuse(context, options.filter.name, why);
  }
  RedisRebuildResult result;
  status = Replace(context, BitsOfGuava(bytes), filter.get(), &result);
  if (!status.ok()) {
    if (created) filter->Delete();
    return Fail(context, status);
  }
  const char* how =
      created ? "created" : (result.replaced ? "replaced" : "added to");
  const std::string& name = context.options.filter.name;
  const uint64_t keys = guava->ApproximateElementCount();
  return Report(context,
                {{"name", name},
                 {"result", how},
                 {"bits", guava->Bits()},
                 {"probes", guava->HashFunctions()},
                 {"keys_estimate", keys}},
                name + ": " + how + ": " + std::to_string(guava->Bits()) +
                    " bits, " + std::to_string(guava->HashFunctions()) +
                    " per key, about " + std::to_string(keys) + " keys");
}

}  // namespace deltabloom::tools
