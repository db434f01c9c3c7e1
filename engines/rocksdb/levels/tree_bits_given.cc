// What a table gets: the half of TreeBits that looks at the tree.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engines/rocksdb/levels/tree_bits.h"

namespace deltabloom::internal {
namespace {

// What the tree is now counts for so much of the profile.
constexpr double kPartOfNow = 0.5;

// The most by which the asked average is corrected for what is found on disk,
// and how much of it the part that adds up may be.
constexpr double kMaxCorrection = 0.10;
constexpr double kMaxIntegral = 0.07;

// While tables of the last run that have more bits than their part wait to be
// rewritten, the others get no more than keeps the average below this.
constexpr double kMaxExcess = 0.04;

// No table gets more than what is asked where the average on disk is above that
// by the first of these, and less and less of what it should get from the
// second below it on.
constexpr double kNoExcess = 0.05;
constexpr double kRoom = 0.02;

// So little weight in the profile is forgotten history.
constexpr double kEnough = 0.02;

}  // namespace

// In parts of all keys of the tree.
double TreeBits::SizeOf(const NewTable& table, const Profile& profile) const {
  const auto level = level_keys_.find(table.level);
  double run = level == level_keys_.end() ? 0 : level->second;
  run += table.keys_from_above;
  if (table.level == 0) {
    run = table.keys_read > 0 ? table.keys_read : std::max(flush_keys_, 1.0);
  }
  const double all = std::max(keys_, run);
  const bool flush = table.level == 0 && table.keys_read == 0;
  if (!flush && !table.bottommost && (table.level == 0 || table.whole_run)) {
    return run / all;
  }
  // As those of its origin have been lately, wherever they lie by now. A level
  // that is just being written to is larger than it will mostly be.
  const int as = table.bottommost ? kBottommost : table.level;
  Share lately;
  for (const auto& [origin, share] : profile) {
    if (origin.first != as) continue;
    if (flush && std::abs(origin.second - OriginOf(0, run).second) > 1)
      continue;
    lately.keys += share.keys;
    lately.weight += share.weight;
  }
  return lately.weight > kEnough ? lately.keys / lately.weight : run / all;
}

// What the tree has been lately and what it is now.
TreeBits::Profile TreeBits::MixedProfile(const Shares& now) const {
  Profile profile = profile_;
  for (auto& [origin, share] : profile) {
    share.keys *= 1 - kPartOfNow;
    share.weight *= 1 - kPartOfNow;
  }
  for (const auto& [origin, share] : now.settled) {
    profile[origin].keys += kPartOfNow * share.keys;
    profile[origin].weight += kPartOfNow * share.weight;
  }
  return profile;
}

// Like a controller with a proportional and an integral part: the one follows
// what is found on disk, the other takes out what remains.
void TreeBits::Ask(double bits_per_key) {
  if (std::fabs(bits_per_key - asked_) > 0.001) {
    integral_ = 0;
    now_valid_ = false;
  }
  asked_ = bits_per_key;
  correction_ = 0;
  if (!(asked_ > 0) || !(keys_ > 0)) return;
  const double error =
      std::clamp((asked_ - Now().settled_bits) / asked_, -1.0, 1.0);
  integral_ = std::clamp(integral_ + 0.25 * error * std::min(rewritten_, 1.0),
                         -kMaxIntegral, kMaxIntegral);
  rewritten_ = 0;
  correction_ = std::clamp(integral_ + error, -kMaxCorrection, kMaxCorrection);
}

// Below it tables that are not bottommost would, together with those of the
// last run as they are now, take the average above what was asked.
double TreeBits::LeastPrice(const Shares& now, const RateCurve& curve) const {
  std::vector<SortedRun> others;
  double keys = 0;
  for (const auto& [origin, share] : now.of) {
    if (origin.first == kBottommost) continue;
    // All keys that are there, at what BitsFor() gives for the size that the
    // run will have once it has settled.
    const Share& settled = now.settled.at(origin);
    others.push_back({share.keys, share.keys * settled.weight / settled.keys});
    keys += share.keys;
  }
  const double left = asked_ * (1 + kMaxExcess) - now.bottommost_bits;
  return keys > 0 ? PriceOfBits(curve, others, left / keys) : 0;
}

TableBits TreeBits::BitsFor(const NewTable& table,
                            const RateCurve& curve) const {
  TableBits given;
  given.bits_per_key = asked_;
  if (profile_.empty() || !(asked_ >= RateCurve::kMinBits)) return given;
  const double corrected = asked_ * (1 + correction_);
  std::vector<SortedRun> runs;
  double bottommost_keys = 0;
  const Shares& now = Now();
  const Profile profile = MixedProfile(now);
  for (const auto& [origin, share] : profile) {
    runs.push_back({share.keys, share.weight});
    if (origin.first == kBottommost) bottommost_keys += share.keys;
  }
  // The first of its kind: how deep the tree will be is not known.
  if (table.bottommost && bottommost_keys < 0.2) {
    given.bits_per_key = corrected;
    return given;
  }
  // A compaction that no listener was told of, as DB::CompactFiles runs them,
  // fills an empty level with nobody knows how many keys.
  if (!(SizeOf(table, profile) > 0)) return given;
  const double price = PriceOfBits(curve, runs, corrected);
  given.slope = price * SizeOf(table, profile);
  given.bits_per_key = curve.BitsAtSlope(given.slope);
  if (!table.bottommost && given.bits_per_key > asked_) {
    // What waits is there, and is to be paid for.
    given.slope =
        std::max(price, LeastPrice(now, curve)) * SizeOf(table, profile);
    given.bits_per_key = curve.BitsAtSlope(given.slope);
    // Those written before may have more than their part, too.
    const double room =
        (asked_ * (1 + kNoExcess) - now.bits) / (asked_ * kRoom);
    if (given.bits_per_key < asked_ || room < 1) {
      given.bits_per_key = asked_ + std::max(given.bits_per_key - asked_, 0.0) *
                                        std::clamp(room, 0.0, 1.0);
      given.slope = 0;
    }
  }
  for (const SortedRun& run : runs) {
    given.rates += run.weight * curve.At(BitsAtPrice(curve, run, price)).rate;
  }
  return given;
}

}  // namespace deltabloom::internal
