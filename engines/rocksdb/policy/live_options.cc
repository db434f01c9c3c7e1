#include "engines/rocksdb/policy/live_options.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "rocksdb/status.h"
#include "rocksdb/utilities/options_type.h"
#include "util/mutex.h"

namespace deltabloom::internal {
namespace {

using rocksdb::OptionTypeInfo;
using rocksdb::Status;

uint64_t NextSerial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// Returns "deltabloom: <error>", and passes it to the reporter as well.
std::string Report(const Process& process, const std::string& error) {
  std::string line = "deltabloom: " + error;
  const ErrorReporter reporter = process.error_reporter;
  if (reporter != nullptr) reporter(line);
  return line;
}

// Returns the number in binary, with a blank for 0 and a tab for 1, so that the
// texts of two policies differ.
std::string BlanksOf(uint64_t number) {
  std::string blanks = " ";
  for (; number != 0; number >>= 1) blanks += number % 2 == 0 ? ' ' : '\t';
  return blanks;
}

}  // namespace

LiveOptions::LiveOptions(Process* process, const std::string& uri)
    : process_(process), serial_(NextSerial()), in_use_(false) {
  const std::string error = ParsePolicyUri(uri, &options_);
  if (!error.empty()) error_ = Report(*process_, error);
}

LiveOptions::LiveOptions(Process* process, const PolicyOptions& options)
    : process_(process),
      serial_(NextSerial()),
      options_(options),
      in_use_(true) {}

PolicyOptions LiveOptions::Get() const {
  const MutexLock lock(mutex_);
  return options_;
}

RocksDBCompatibility LiveOptions::Compatibility() const {
  const MutexLock lock(mutex_);
  return options_.compatibility;
}

Status LiveOptions::Set(const OptionMap& map, bool ignores_unknown) {
  const Status status = StatusOf([&] {
    std::string notice;
    std::string wrong;
    {
      const MutexLock lock(mutex_);
      PolicyOptions changed = options_;
      wrong = ApplyPolicyOptions(map, in_use_, ignores_unknown, &changed);
      notice = changed.notice;
      if (!in_use_ || wrong.empty()) options_ = std::move(changed);
    }
    if (!notice.empty()) Report(*process_, notice);
    if (wrong.empty()) return Status::OK();
    const std::string line = Report(*process_, wrong);
    if (!in_use_ && error_.empty()) error_ = line;
    return Status::InvalidArgument(line);
  });
  if (status.IsMemoryLimit() && !in_use_ && error_.empty()) {
    error_ = kOutOfMemory;
  }
  return status;
}

Status LiveOptions::Check() const {
  return error_.empty() ? Status::OK() : Status::InvalidArgument(error_);
}

// RocksDB reads an OPTIONS file again before the file replaces an older one,
// and compares the policies. Where Equals() finds a difference, it takes the
// policies for equal nevertheless if their texts are (Configurable::
// OptionsAreEqual in options/configurable.cc: AreEqual() or AreEqualByName()).
// So the text of a policy with an error ends in blanks that no other policy
// has. RocksDB drops them when it reads the text.
std::string LiveOptions::Print(const PolicyOption& option) const {
  return option.print(Get()) + (error_.empty() ? "" : BlanksOf(serial_));
}

bool LiveOptions::Equals(const PolicyOption& option, const LiveOptions& other,
                         std::string* mismatch) const {
  const bool done = WithoutThrowing([&] {
    *mismatch = Print(option) == other.Print(option) ? ""
                : !error_.empty()                    ? error_
                : !other.error_.empty()              ? other.error_
                                                     : option.name;
  });
  if (!done) *mismatch = kOutOfMemory;
  return mismatch->empty();
}

OptionTypeInfo LiveOptions::TypeInfo(const PolicyOption* option) {
  return OptionTypeInfo(
      0, rocksdb::OptionType::kString, rocksdb::OptionVerificationType::kNormal,
      option->may_change ? rocksdb::OptionTypeFlags::kMutable
                         : rocksdb::OptionTypeFlags::kNone,
      [option](const auto&, const auto&, const std::string& text, void* live) {
        return static_cast<LiveOptions*>(live)->Set({{option->name, text}},
                                                    false);
      },
      [option](const auto&, const auto&, const void* live, std::string* text) {
        return StatusOf([&] {
          *text = static_cast<const LiveOptions*>(live)->Print(*option);
          return Status::OK();
        });
      },
      [option](const auto&, const auto&, const void* a, const void* b,
               std::string* mismatch) {
        return static_cast<const LiveOptions*>(a)->Equals(
            *option, *static_cast<const LiveOptions*>(b), mismatch);
      });
}

const std::unordered_map<std::string, OptionTypeInfo>&
LiveOptions::TypeInfos() {
  // Never destroyed: policies may outlive static objects.
  static const auto& infos = *[] {
    auto* const made = new std::unordered_map<std::string, OptionTypeInfo>;
    for (const PolicyOption& option : kPolicyOptions) {
      made->emplace(option.name, TypeInfo(&option));
    }
    return made;
  }();
  return infos;
}

}  // namespace deltabloom::internal
