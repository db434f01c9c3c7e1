#include "db_bench_ext/study/advice.h"

#include <cmath>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "deltabloom/sizing.h"
#include "util/layouts/layout.h"

namespace deltabloom::study {
namespace {

using bench::Fixed;
using bench::Percent;

constexpr int kBitsPerKey = 10;

std::vector<Rows> AtTenBits(const Rows& space) {
  std::vector<Rows> rows;
  for (const auto& row : space) {
    if (row["bits_per_key"] == kBitsPerKey) rows.push_back(row);
  }
  return rows;
}

std::string Rate(const Rows& row) {
  return Percent(row["false_positive_rate"].get<double>()) + " ± " +
         Percent(row["error"].get<double>()) + " %";
}

std::string LayoutAdvice(const std::vector<Rows>& rows) {
  const Rows* best = &rows[0];
  for (const Rows& row : rows) {
    if (row["false_positive_rate"] < (*best)["false_positive_rate"]) {
      best = &row;
    }
  }
  std::string text = "- Fewest false positives at 10 bits per key: " +
                     (*best)["layout"].get<std::string>() + ", " + Rate(*best);
  for (const Rows& row : rows) {
    if (&row == best) continue;
    text += "; " + row["layout"].get<std::string>() + " " + Rate(row);
  }
  return text + ".\n";
}

std::string BitsAdvice(const std::vector<Rows>& rows, double rate) {
  const uint64_t keys = rows[0]["keys"].get<uint64_t>();
  std::string text = "- Bits per key for " + Percent(rate) + " %:";
  const char* separator = " ";
  for (const Rows& row : rows) {
    const auto name = row["layout"].get<std::string>();
    const internal::LayoutRow* layout = internal::FindLayoutOfName(name);
    const double bits = BitsPerKeyForRate(layout->layout, rate, keys);
    text +=
        separator + name + " " +
        (std::isfinite(bits) ? Fixed(bits, 1) : std::string("out of reach"));
    separator = ", ";
  }
  return text + ".\n";
}

std::string SpaceAdvice(const Rows& row) {
  const auto keys = row["keys"].get<double>();
  const double key_bytes = row["key_bytes"].get<double>() / keys;
  return "- A filter of 10 bits per key takes " +
         Fixed(100 * (1 - row["space_saved"].get<double>()), 1) +
         " % of the bytes of these keys, which are " + Fixed(key_bytes, 1) +
         " long on average.\n";
}

// 32 bits collide by chance; more than four standard deviations above that, and
// a few for small numbers, is not chance.
bool IsEven(const Rows& row) {
  const auto expected = row["expected_collisions"].get<double>();
  return row["collisions"].get<double>() <=
         expected + 4 * std::sqrt(expected) + 3;
}

std::string HashAdvice(const Rows& hashes, const char* name, const char* used) {
  for (const auto& row : hashes) {
    if (row["hash"] != name) continue;
    const std::string counted =
        bench::WithThousands(row["collisions"].get<uint64_t>()) +
        " collisions where chance gives " +
        Fixed(row["expected_collisions"].get<double>(), 1);
    return std::string("- ") + name + ", the hash of " + used +
           (IsEven(row) ? ", is even on these keys: "
                        : ", is uneven on these keys: ") +
           counted +
           (IsEven(row) ? ".\n" : "; take a layout with another hash.\n");
  }
  return "";
}

}  // namespace

std::string Advice(const Rows& hashes, const Rows& space) {
  const std::vector<Rows> rows = AtTenBits(space);
  std::string text;
  if (!rows.empty()) {
    text += "\nFor these keys, in filters of " +
            bench::WithThousands(rows[0]["keys"].get<uint64_t>()) + ":\n";
    text += LayoutAdvice(rows);
    text += BitsAdvice(rows, 0.01) + BitsAdvice(rows, 0.001);
    text += SpaceAdvice(rows[0]);
  } else {
    text += "\nFor these keys:\n";
  }
  text += HashAdvice(hashes, "MurMurHash2", "classic");
  text += HashAdvice(hashes, "Deltabloom64", "local and compact");
  if (!rows.empty()) {
    text +=
        "- In RocksDB take filter_policy=deltabloom:10:auto, for which the "
        "number of keys in a table counts;\n  deltabloom estimate --keys N "
        "says what more bits would save (docs/guide.md).\n";
  }
  return text;
}

}  // namespace deltabloom::study
