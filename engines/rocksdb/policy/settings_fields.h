// The parameters of a policy, one row each: how each is called, read and
// printed. What sets them (a URI, an OPTIONS file, SetOptions) goes by the
// rows.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_FIELDS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engines/rocksdb/policy/settings.h"
#include "rocksdb/utilities/options_type.h"

namespace deltabloom::internal {

// May SetOptions change it while the policy is used?
inline constexpr bool kMayChange = true;
inline constexpr bool kFixed = false;

struct Field {
  const char* name;
  ROCKSDB_NAMESPACE::OptionType type;
  bool may_change;
  // Returns what is wrong and what is legal, or nothing; then it is set.
  // Comes with the name above.
  std::string (*parse)(std::string_view name, std::string_view text,
                       Settings* settings);
  // As parse() reads it.
  std::string (*print)(const Settings& settings);
};

// In the order in which they are printed.
extern const Field kFields[];
extern const size_t kFieldCount;

// The row of that name, or null.
const Field* FindField(std::string_view name);

// Those that a URI sets by their place.
inline constexpr const char* kUriFields[] = {"bits_per_key", "layout",
                                             "allocation"};
inline constexpr char kUriForm[] = "deltabloom:BITS_PER_KEY:LAYOUT:ALLOCATION";

// As kLeastRate says.
inline constexpr char kLegalRates[] =
    "use 0.000000001 to less than 1, 0.01 takes about 10 bits per key, or 0 to "
    "go by bits_per_key";

// The thousandths that stand for bits_per_key. What is below the least that
// writes a filter stays there.
uint32_t Millibits(double bits_per_key);

// As short as gives the same number when it is read.
std::string RateText(double rate);

// What is wrong with a range part beside a key transform, or beside a rate
// instead of bits per key; empty if there is no such.
std::string RangeConflictIn(bool range, bool transformed, bool by_rate);

// In single quotes.
std::string Quote(std::string_view text);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_FIELDS_H_
