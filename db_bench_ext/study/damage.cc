// What a changed bit, or a lost end, does to a filter: every bit of every
// filter is flipped in turn, every filter is cut at every length, and all its
// keys are asked each time. Nothing here crashes or reads out of bounds, and a
// key that is lost would be lost to the user: nothing above the filter notices.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "db_bench_ext/study/filter_kinds.h"
#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {
namespace {

struct Count {
  uint64_t changes = 0;
  uint64_t losing = 0;

  void Add(bool loses) {
    ++changes;
    losing += loses;
  }
  double Percent() const {
    return changes == 0 ? 0
                        : 100.0 * static_cast<double>(losing) /
                              static_cast<double>(changes);
  }
};

// Whether at least one of the keys is lost.
bool Loses(const FilterKind& kind, const std::string& filter,
           const std::vector<std::string>& keys) {
  // A copy of its own, so that sanitizers see the end.
  const std::vector<char> bytes(filter.begin(), filter.end());
  const auto may_match = kind.open({bytes.data(), bytes.size()});
  for (const std::string& key : keys) {
    if (!may_match(key)) return true;
  }
  return false;
}

struct Damage {
  Count payload_flips;
  Count framing_flips;
  Count truncations;
};

void StudyFilter(const FilterKind& kind, const std::vector<std::string>& keys,
                 Damage* damage) {
  const std::string filter = kind.build(keys);
  if (Loses(kind, filter, keys)) {
    throw std::runtime_error(kind.name + ": a key that was added is missed");
  }
  const size_t payload_size =
      filter.size() - std::min(filter.size(), kind.framing_size);
  std::string changed = filter;
  for (size_t bit = 0; bit < 8 * filter.size(); ++bit) {
    const auto mask = static_cast<char>(1 << bit % 8);
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ mask);
    Count& count =
        bit / 8 < payload_size ? damage->payload_flips : damage->framing_flips;
    count.Add(Loses(kind, changed, keys));
    changed[bit / 8] = filter[bit / 8];
  }
  for (size_t size = 0; size < filter.size(); ++size) {
    damage->truncations.Add(Loses(kind, filter.substr(0, size), keys));
  }
}

}  // namespace

Rows StudyDamage(const std::vector<size_t>& numbers_of_keys, uint64_t seed,
                 const Progress& progress) {
  Rows rows = Rows::array();
  for (const FilterKind& kind : FilterKinds()) {
    Damage damage;
    for (const size_t n : numbers_of_keys) {
      progress("damage, " + kind.name + ", " + std::to_string(n) + " keys");
      StudyFilter(kind, StudyKeys(n, seed), &damage);
    }
    rows.push_back({{"filter", kind.name},
                    {"payload_flips", damage.payload_flips.changes},
                    {"losing", damage.payload_flips.losing},
                    {"losing_percent", damage.payload_flips.Percent()},
                    {"framing_flips", damage.framing_flips.changes},
                    {"losing_framing_flips", damage.framing_flips.losing},
                    {"truncations", damage.truncations.changes},
                    {"losing_truncations", damage.truncations.losing}});
  }
  return rows;
}

}  // namespace deltabloom::study
