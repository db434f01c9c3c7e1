// The range filter that a table of RocksDB holds as a property: whether it lets
// through every range that holds a key of the table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/key_transform.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/state.h"
#include "table/sst/sst.h"
#include "tools/deltabloom/data_blocks.h"
#include "tools/deltabloom/filter_keys.h"
#include "tools/deltabloom/table_files.h"
#include "tools/deltabloom/verify.h"
#include "tools/program/console.h"
#include "util/range/filter.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::RangeProperty;
using internal::RegisteredTransform;

// The entries of the table that its range filter must have seen.
uint64_t EntriesOf(const internal::SstFile& file) {
  const uint64_t all = NumberOf(file, "rocksdb.num.entries");
  return all - std::min(all, NumberOf(file, "rocksdb.num.range-deletions"));
}

// Why no scan uses the filter, as the reader of RocksDBRanges decides it;
// nothing if scans do.
std::string WhyNotUsed(const RangeProperty& property,
                       const internal::SstFile& file,
                       const FilterContent& content,
                       const RegisteredTransform* transform) {
  if (!property.transform.empty() && transform == nullptr) {
    return "key transform " + std::string(property.transform) +
           " is not registered here";
  }
  if (transform == nullptr && !internal::IsBytewiseOrder(content.comparator)) {
    return "comparator " + content.comparator +
           " does not order keys by their bytes, and it names no key transform";
  }
  if (content.order != nullptr &&
      property.timestamp_size != content.order->timestamp_size()) {
    return "it is of keys without " + std::to_string(property.timestamp_size) +
           " bytes of timestamp, and those of the comparator have " +
           std::to_string(content.order->timestamp_size());
  }
  const uint64_t entries = EntriesOf(file);
  if (property.entries != entries) {
    return "it is of " + Count(property.entries, "entry", "entries") +
           ", and the table has " + std::to_string(entries);
  }
  return {};
}

// Asks the filter for ranges that hold a key.
class RangeVerifier {
 public:
  RangeVerifier(const internal::range::Filter& filter,
                const RegisteredTransform* transform, TableReport* report)
      : filter_(filter),
        transform_(transform),
        show_(report->show),
        lookups_(&*report->ranges) {}

  // Takes the next key of the table, without timestamp.
  void Key(std::string_view key) {
    if (lookups_->keys > 0 && key == key_) return;
    key_ = key;
    ++lookups_->keys;
    if (transform_ != nullptr)
      key = transform_->transform.function(key, &space_);
    const bool denied =
        Denies(key, key) ||
        (last_.has_value() && (Denies(*last_, key) || DeniesPrefix(key)));
    last_ = key;
    if (!denied) return;
    ++lookups_->false_negatives;
    if (lookups_->missed.size() < show_) {
      lookups_->missed.push_back({key_, lower_, upper_});
    }
  }

 private:
  // Returns whether the filter denies the range from `first` to `last`, both
  // included.
  bool Denies(std::string_view first, std::string_view last) {
    lower_ = first;
    upper_ = last;
    upper_.push_back('\0');
    return Denied();
  }

  // Returns whether the filter denies all keys that begin like this one up to
  // the first byte that differs from the key before.
  bool DeniesPrefix(std::string_view key) {
    const auto differs =
        std::mismatch(key.begin(), key.end(), last_->begin(), last_->end())
            .first;
    if (differs == key.end()) return false;
    lower_.assign(key.begin(), differs + 1);
    upper_ = lower_;
    while (!upper_.empty() && upper_.back() == '\xff') upper_.pop_back();
    if (upper_.empty()) return false;  // there is no upper bound
    ++upper_.back();
    return Denied();
  }

  bool Denied() {
    ++lookups_->ranges;
    return !filter_.MayMatch(lower_, upper_);
  }

  const internal::range::Filter& filter_;
  const RegisteredTransform* const transform_;
  const uint64_t show_;
  RangeLookups* const lookups_;
  KeyScratch space_;
  std::string key_;                  // of the table
  std::optional<std::string> last_;  // the one before it, as the filter has it
  std::string lower_, upper_;        // the range that was asked last
};

}  // namespace

void VerifyRangeFilter(const internal::SstSource& source,
                       const internal::SstFile& file,
                       const std::function<bool(double share)>& go_on,
                       TableReport* report) {
  std::string_view bytes;
  if (!file.properties.Text(internal::kRangePropertyName, &bytes)) return;
  const auto not_used = [report](const std::string& why) {
    report->not_checked.push_back("range filter: no scan uses it: " + why);
  };
  RangeProperty property;
  if (!ParseRangeProperty(bytes, &property)) {
    return not_used("it is damaged, or of a later version");
  }
  const internal::range::Filter filter(property.filter);
  if (filter.AlwaysMatches()) {
    return not_used("it is damaged, or of a later version");
  }
  std::string ignored;
  const FilterContent content = FindContent(file, &ignored);
  const RegisteredTransform* const transform =
      property.transform.empty()
          ? nullptr
          : internal::FindKeyTransform(property.transform);
  const std::string why = WhyNotUsed(property, file, content, transform);
  if (!why.empty()) return not_used(why);
  report->ranges.emplace();
  RangeVerifier verifier(filter, transform, report);
  const size_t suffix = content.timestamp_size + kTagSize;
  uint64_t entries = 0;
  DataBlocks blocks(source, file);
  struct Stop {};
  try {
    blocks.ForEach([&](std::string_view, const BlockHandle& handle) {
      if (!go_on(static_cast<double>(handle.offset) /
                 static_cast<double>(source.Size()))) {
        throw Stop();
      }
      blocks.ForEachKey(handle, [&](std::string_view key) {
        ++entries;
        if (key.size() < suffix) {
          Check(source.Name() + ": expected keys with " +
                std::to_string(suffix) +
                " bytes of timestamp and sequence number, found a key of " +
                std::to_string(key.size()));
        }
        key.remove_suffix(suffix);
        verifier.Key(key);
      });
    });
  } catch (const Stop&) {
    report->cut_short = true;
  }
  report->entries = std::max(report->entries, entries);
}

}  // namespace deltabloom::tools
