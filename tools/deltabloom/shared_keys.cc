// The actions of deltabloom shared that read keys.
#include <algorithm>
#include <memory>

#include "tools/deltabloom/key_reader.h"
#include "tools/deltabloom/shared_actions.h"

namespace deltabloom::tools {
namespace {

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

std::string Keys(uint64_t n) {
  return std::to_string(n) + (n == 1 ? " key" : " keys");
}

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

// Adds the keys of a file by one bitmap that is merged into the filter's: much
// faster than a script for each batch. False, and nothing is done, if the file
// is too small for that, or the filter cannot take it now.
bool StartBulk(const KeyReader& reader, RedisFilter* filter,
               const RedisRebuildOptions& given,
               std::unique_ptr<RedisRebuild>* bulk) {
  constexpr uint64_t kMinBytes = 100000;
  RedisFilterInfo info;
  std::string bits;
  RedisRebuildOptions options = given;
  options.keep_keys = true;
  // The bits that are set already tell which keys are new.
  return reader.bytes_all() >= kMinBytes && filter->Info(&info).ok() &&
         info.stored_bytes / 8 <= reader.bytes_all() &&
         filter->ReadBits(&bits).ok() &&
         filter->StartRebuild(options, bulk).ok() && (*bulk)->AddBits(bits);
}

}  // namespace

ExitCode SharedAdd(const SharedContext& context) {
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenFilter(context.options, &filter);
  if (!status.ok()) return Fail(context, status);
  const auto reader = OpenKeys(context);
  uint64_t added = 0;
  uint64_t fresh = 0;
  const auto is_new = std::make_unique<bool[]>(KeyReader::kMaxBatch);
  std::unique_ptr<RedisRebuild> bulk;
  if (!StartBulk(*reader, filter.get(), RebuildOptions(context), &bulk)) {
    bulk.reset();
  }
  try {
    while (status.ok()) {
      const auto& keys = reader->Next();
      if (keys.empty()) break;
      if (bulk != nullptr) {
        for (const std::string_view key : keys) fresh += bulk->Add(key) ? 1 : 0;
        ShowKeys(*reader, context.console);
        continue;
      }
      for (size_t at = 0; status.ok() && at < keys.size();) {
        const size_t n = std::min(keys.size() - at, KeyReader::kMaxBatch);
        status = filter->Add(keys.data() + at, n, is_new.get());
        if (!status.ok()) break;
        for (size_t i = 0; i < n; ++i) fresh += is_new[i] ? 1 : 0;
        added += n;
        at += n;
      }
      ShowKeys(*reader, context.console);
    }
    if (bulk != nullptr) {
      RedisRebuildResult result;
      status = bulk->Finish(&result);
      if (!status.ok()) return Fail(context, status);
      added = result.keys;
    }
  } catch (const std::exception&) {
    context.console->Error(context.who + ": " + Keys(added) +
                           " added; to add them again does no harm");
    throw;
  }
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", context.options.filter.name);
    json->Number("added", added);
    json->Number("new", fresh);
  } else {
    context.console->Line(context.options.filter.name + ": " + Keys(added) +
                          " added, " + std::to_string(fresh) + " of them new");
  }
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
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", context.options.filter.name);
    json->Text("result", how);
    json->Number("keys", result.keys);
    json->Number("set_bits", result.set_bits);
    json->Number("uploaded_bytes", result.uploaded_bytes);
    json->Number("upload_ms",
                 static_cast<uint64_t>(result.upload_time.count()));
  } else {
    context.console->Line(context.options.filter.name + ": " + how + ": " +
                          Keys(result.keys) + ", " +
                          std::to_string(result.set_bits) + " bits set");
  }
  return kSuccess;
}

}  // namespace deltabloom::tools
