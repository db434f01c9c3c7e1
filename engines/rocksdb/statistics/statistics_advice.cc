// What would spare reads. docs/guide.md has the rule in words.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"
#include "util/number_text.h"

namespace deltabloom {
namespace {

using internal::NumberText;

// Fewer negatives than these, which carry an error of 3 %, say nothing.
constexpr uint64_t kFewestNegatives = 1000;
constexpr double kFewestReadsPerSecond = 1;
constexpr double kLeastShare = 0.1;  // of all false positives
constexpr double kLeastBits = 0.5;   // per key
// More than this spares nothing that anybody would notice.
constexpr double kMostBits = 24;
// Below, compact is mostly its fallback.
constexpr double kFewestKeysPerFilter = 1000;

// A row whose bits could be spread otherwise. Its rate at b bits per key is
// taken for rate * fall^(b - bits).
struct Share {
  const RocksDBFilterRow* row;
  double absent;  // lookups of absent keys, per second
  double keys;
  double bits;  // per key
  double rate;
  double fall;  // of the rate, for one more bit

  double RateAt(double other_bits) const {
    return std::min(1.0, rate * std::pow(fall, other_bits - bits));
  }
  // At which one more byte for its keys would spare `price` reads; none below
  // the bits of a rate of 1.
  double BitsAt(double price) const {
    const double slope = absent * rate * -std::log(fall) / keys;
    const double best = bits + std::log(price / slope) / std::log(fall);
    const double none = std::max(0.0, bits - std::log(rate) / std::log(fall));
    return std::clamp(best, none, std::max(kMostBits, bits));
  }
};

// Per bit: local and classic have a quarter of the false positives with three
// more (docs/guide.md), compact half with one more.
double FallOf(const std::string& layout) {
  return layout == "compact" ? 0.5 : std::pow(0.25, 1.0 / 3);
}

std::vector<Share> SharesOf(const RocksDBFilterStatistics& statistics) {
  std::vector<Share> shares;
  if (statistics.seconds <= 0) return shares;
  for (const RocksDBFilterRow& row : statistics.rows) {
    const double rate = row.FalsePositiveRate();
    if (!row.rate_known || row.negatives < kFewestNegatives ||
        row.keys_open == 0 || !(rate > 0)) {
      continue;
    }
    shares.push_back(
        {&row,
         (static_cast<double>(row.negatives) + row.expected_false_positives) /
             statistics.seconds,
         static_cast<double>(row.keys_open), row.BitsPerKey(), rate,
         FallOf(row.layout)});
  }
  return shares;
}

double TotalBits(const std::vector<Share>& shares, double price) {
  double bits = 0;
  for (const Share& share : shares) bits += share.keys * share.BitsAt(price);
  return bits;
}

// The price at which the shares take the bits they have now: at equal prices
// nothing is gained by moving a byte.
double EqualPrice(const std::vector<Share>& shares) {
  double now = 0;
  for (const Share& share : shares) now += share.keys * share.bits;
  double low = -700;  // natural logarithms
  double high = 700;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (TotalBits(shares, std::exp(middle)) > now ? low : high) = middle;
  }
  return std::exp(high);
}

std::string NameOf(const RocksDBFilterRow& row) {
  return "level " + (row.level < 0 ? "unknown" : std::to_string(row.level)) +
         ", " + row.layout + ": " + NumberText(row.BitsPerKey(), 1) +
         " bits per key";
}

std::string PerSecond(double reads) {
  return NumberText(reads, reads < 10 ? 1 : 0) + " reads per second";
}

// Other bits per level, in as many bytes.
void AddOtherBits(const std::vector<Share>& shares,
                  std::vector<std::string>* lines) {
  if (shares.size() < 2) return;
  const double price = EqualPrice(shares);
  double now = 0;
  double saved = 0;
  double bytes = 0;
  std::vector<std::string> moves;
  for (const Share& share : shares) {
    const double bits = share.BitsAt(price);
    const double reads = share.absent * (share.rate - share.RateAt(bits));
    now += share.absent * share.rate;
    saved += reads;
    bytes += share.keys * share.bits / 8;
    if (std::abs(bits - share.bits) < kLeastBits) continue;
    moves.push_back(NameOf(*share.row) + "; " + NumberText(bits, 1) +
                    " would " + (reads < 0 ? "cost " : "save ") +
                    PerSecond(std::abs(reads)));
  }
  if (saved < kFewestReadsPerSecond || saved < kLeastShare * now) return;
  lines->insert(lines->end(), moves.begin(), moves.end());
  lines->push_back("together, in the same " + NumberText(bytes / 1e6, 1) +
                   " MB: " + PerSecond(saved) + " fewer, of " +
                   NumberText(now, now < 10 ? 1 : 0));
}

// compact instead, in as many bytes: its rate is 2^-(.98 bits). Not for level
// 0, whose filters are built all the time.
void AddCompact(const std::vector<Share>& shares,
                std::vector<std::string>* lines) {
  double now = 0;
  for (const Share& share : shares) now += share.absent * share.rate;
  for (const Share& share : shares) {
    const RocksDBFilterRow& row = *share.row;
    if (row.layout == "compact" || row.level == 0 ||
        share.keys <
            kFewestKeysPerFilter * static_cast<double>(row.filters_open)) {
      continue;
    }
    const double compact = std::exp2(-0.98 * share.bits);
    const double saved = share.absent * (share.rate - compact);
    if (saved < kFewestReadsPerSecond || saved < kLeastShare * now) continue;
    lines->push_back(NameOf(row) + "; as many in compact would save " +
                     PerSecond(saved));
  }
}

}  // namespace

std::vector<std::string> RocksDBFilterStatistics::Advice() const {
  const std::vector<Share> shares = SharesOf(*this);
  std::vector<std::string> lines;
  AddOtherBits(shares, &lines);
  AddCompact(shares, &lines);
  return lines;
}

}  // namespace deltabloom
