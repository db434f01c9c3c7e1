#include "util/range/prefix_counts.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {
namespace {

// Counts, behind a delimiter, where keys part from the key before. Keys come in
// order, so a key has a new prefix of b bits exactly if it shares fewer than b
// bits with the key before it.
class DelimiterCounter {
 public:
  explicit DelimiterCounter(const Cut& cut) : cut_(cut), parting_(1) {}

  void Add(const KeyStore::Cursor& at) {
    const bool same_beginning = begin_ <= at.shared();
    if (!same_beginning) begin_ = BeginOf(cut_, at.key());
    if (begin_ == std::string_view::npos) return;
    const size_t place = same_beginning ? at.shared_bits() - 8 * begin_ + 1 : 0;
    if (parting_.size() <= place) parting_.resize(place + 1);
    ++parting_[place];
  }

  PrefixCounts Get() const { return PrefixCounts(parting_); }

 private:
  const Cut cut_;
  size_t begin_ = std::string_view::npos;  // in the key before
  std::vector<uint64_t> parting_;          // as PrefixCounts takes it
};

}  // namespace

PrefixCounts::PrefixCounts(const std::vector<uint64_t>& parting)
    : counts_(parting.size()) {
  std::partial_sum(parting.begin(), parting.end(), counts_.begin());
}

PrefixCounts CountPrefixes(const KeyStore& keys) {
  // All keys share the beginning, and the first one has a new prefix there.
  std::vector<uint64_t> parting{1};
  parting.insert(parting.end(), keys.KeysBySharedBits().begin(),
                 keys.KeysBySharedBits().end());
  return PrefixCounts(parting);
}

std::vector<PrefixCounts> CountPrefixes(const KeyStore& keys,
                                        const std::vector<Cut>& cuts) {
  std::vector<DelimiterCounter> counters;
  for (const Cut& cut : cuts) {
    if (cut.count > 0) counters.emplace_back(cut);
  }
  if (!counters.empty()) {
    for (KeyStore::Cursor cursor(keys); cursor.Next();) {
      for (DelimiterCounter& counter : counters) counter.Add(cursor);
    }
  }
  std::vector<PrefixCounts> counts;
  auto counter = counters.begin();
  for (const Cut& cut : cuts) {
    counts.push_back(cut.count == 0 ? CountPrefixes(keys) : (counter++)->Get());
  }
  return counts;
}

}  // namespace deltabloom::internal::range
