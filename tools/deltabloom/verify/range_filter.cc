// The range filter that a table of RocksDB holds as a property: whether it lets
// through every range that holds a key of the table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/key_transform.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/prefix_functions.h"
#include "engines/rocksdb/ranges/property.h"
#include "tools/deltabloom/tables/data_blocks.h"
#include "tools/deltabloom/tables/filter_content.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/deltabloom/verify/report.h"
#include "tools/deltabloom/verify/tables.h"
#include "tools/program/console.h"
#include "tools/sst/sst.h"
#include "util/range/bytes.h"
#include "util/range/declaration.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"
#include "util/range/place.h"
#include "util/range/places.h"
#include "util/range/question.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::RangeProperty;
using internal::RegisteredTransform;
using internal::range::Filter;
using internal::range::Order;

constexpr char kDamaged[] = "it is damaged, or of another version";

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
  if (property.comparator != content.comparator) {
    return "it is of comparator " + std::string(property.comparator) +
           ", and the table of " + content.comparator;
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
  // REQUIRES: the places are those of the filter.
  RangeVerifier(const Filter& filter, internal::range::Places places,
                const RegisteredTransform* transform, TableReport* report)
      : filter_(filter),
        order_(filter.header().order),
        places_(std::move(places)),
        transform_(transform),
        show_(report->show),
        lookups_(&*report->ranges) {}

  // Takes the next key of the table, without timestamp.
  void Key(std::string_view key) {
    if (lookups_->keys > 0 && key == key_) return;
    key_ = key;
    ++lookups_->keys;
    if (transform_ != nullptr) {
      key = transform_->transform.function(key, &space_);
    }
    const bool denied = DeniesBounds(key) || DeniesPrefixes(key);
    last_ = key;
    if (!denied) return;
    ++lookups_->false_negatives;
    if (lookups_->missed.size() < show_) {
      lookups_->missed.push_back({key_, lower_, upper_});
    }
  }

 private:
  // Returns whether the filter denies the key, or the range from the key before
  // it. Bounds in the reverse order of bytes cannot say this: the upper bound
  // is not in the range, and no text is the next smaller one.
  bool DeniesBounds(std::string_view key) {
    if (order_ != Order::kBytewise) return false;
    upper_ = std::string(key) + '\0';
    for (const std::string_view from : {key, std::string_view(last_)}) {
      lower_ = from;
      if (Denied(internal::range::RangeOfBounds(order_, lower_, upper_))) {
        return true;
      }
    }
    return false;
  }

  // Returns whether the filter denies all keys that begin like this one: up to
  // the first byte that differs from the key before, up to some place, or up to
  // one byte before it. The latter shows whether a prefix function depends on
  // bytes behind an end.
  bool DeniesPrefixes(std::string_view key) {
    sizes_ = {internal::range::CommonPrefix(key, last_) + 1, key.size()};
    const size_t none = 0;
    places_.ForEach(key, &none, [this](size_t, size_t bits) {
      sizes_.push_back(bits / 8);
      sizes_.push_back(bits / 8 - (bits >= 8 ? 1 : 0));
    });
    for (const size_t size : sizes_) {
      lower_ = key.substr(0, size);
      upper_ = lower_;
      if (Denied(internal::range::RangeOfPrefix(order_, lower_))) return true;
    }
    return false;
  }

  // Asks with the places of the filter, as a scan does.
  bool Denied(const internal::range::KeyRange& range) {
    ++lookups_->ranges;
    return filter_.IsOutside(range) ||
           !filter_.MayHold(internal::range::QuestionOf(range, places_));
  }

  const Filter& filter_;
  const Order order_;
  const internal::range::Places places_;
  const RegisteredTransform* const transform_;
  const uint64_t show_;
  RangeLookups* const lookups_;
  KeyScratch space_;
  std::vector<size_t> sizes_;
  std::string key_;            // of the table
  std::string last_;           // the one before it, as the filter has it
  std::string lower_, upper_;  // the range that was asked last
};

// Passes the keys of the table, without timestamps, and counts the entries.
// Returns false if go_on stopped it.
bool VisitKeys(const internal::SstSource& source, const internal::SstFile& file,
               size_t timestamp_size,
               const std::function<bool(double share)>& go_on,
               uint64_t* entries, RangeVerifier* verifier) {
  const size_t suffix = timestamp_size + kTagSize;
  DataBlocks blocks(source, file);
  struct Stop {};
  try {
    blocks.ForEach([&](std::string_view, const BlockHandle& handle) {
      if (!go_on(static_cast<double>(handle.offset) /
                 static_cast<double>(source.Size()))) {
        throw Stop();
      }
      blocks.ForEachKey(handle, [&](std::string_view key) {
        ++*entries;
        if (key.size() < suffix) {
          Check(source.Name() + ": expected keys with " +
                std::to_string(suffix) +
                " bytes of timestamp and sequence number, found a key of " +
                std::to_string(key.size()));
        }
        key.remove_suffix(suffix);
        verifier->Key(key);
      });
    });
  } catch (const Stop&) {
    return false;
  }
  return true;
}

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
    return not_used(kDamaged);
  }
  const Filter filter(property.filter);
  if (!filter.known()) return not_used(kDamaged);
  std::vector<internal::range::Place> places;
  std::string_view unknown;
  if (!internal::range::ParseDeclaration(filter.header().held,
                                         internal::FindPrefixFunction, &places,
                                         &unknown)) {
    return not_used(unknown.empty()
                        ? kDamaged
                        : "prefix function " + std::string(unknown) +
                              " is not registered here");
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
  RangeVerifier verifier(
      filter, internal::range::Places(places, filter.header().limits),
      transform, report);
  uint64_t entries = 0;
  try {
    report->cut_short = !VisitKeys(source, file, content.timestamp_size, go_on,
                                   &entries, &verifier);
  } catch (const std::invalid_argument& failure) {
    report->ranges.reset();
    return not_used(failure.what());
  }
  report->entries = std::max(report->entries, entries);
}

}  // namespace deltabloom::tools
