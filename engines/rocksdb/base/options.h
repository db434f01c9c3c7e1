// The options of a RocksDB policy. One table says how each is named, read,
// checked and printed, wherever it comes from. Needs no RocksDB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "util/layouts/layout.h"
#include "util/span.h"

namespace deltabloom::internal {

// The name of the policy in URIs, OPTIONS files and table properties.
inline constexpr char kPolicyName[] = "deltabloom";

struct PolicyOptions : RocksDBFilterOptions {
  // Copies the options, and sets all other members to their defaults. Returns
  // what Validate() does.
  std::string Set(const RocksDBFilterOptions& options);

  // Return bits_per_key, and upper_bits_per_key or the number that it stands
  // for when it is unset, in thousandths. They are rounded, but numbers below
  // kMinBitsPerKey, which means no filter, stay below it.
  uint32_t MillibitsPerKey() const;
  uint32_t UpperMillibitsPerKey() const;

  // If it returns true, a policy with these options must write and read no
  // filter.
  bool TransformIsUnknown() const {
    return transform == nullptr && key_transform != kNoTransform;
  }

  // The text for the LOG about options that were ignored; empty if none were.
  std::string notice;
  // The transform that key_transform names, which is then NAME@VERSION; null
  // for "none" and for a transform that is not registered.
  const RegisteredTransform* transform = nullptr;
};

inline constexpr auto kMinMillibitsPerKey =
    static_cast<uint32_t>(1000 * kMinBitsPerKey);

struct PolicyOption {
  // Sets the option. Returns an empty string, or what is wrong with `text` and
  // what is legal; the option then is as before, except for a key_transform
  // that is not registered.
  std::string Parse(std::string_view text, PolicyOptions* options) const;
  // Does what Parse() does for a value that is set already.
  std::string Accept(PolicyOptions* options) const;

  const char* name;
  // Legal values, for error messages; `names`, if not null, returns the rest.
  const char* legal;
  bool (*parse)(std::string_view text, PolicyOptions* options);
  bool (*accept)(PolicyOptions* options);
  // The text that Parse() reads.
  std::string (*print)(const PolicyOptions& options);
  std::string (*names)() = nullptr;
  // SetOptions may change the option in a policy that is in use.
  bool may_change = true;

 private:
  std::string Refuse(std::string_view text) const;
};

// Options are printed in this order.
extern const Span<PolicyOption> kPolicyOptions;

using OptionMap = std::unordered_map<std::string, std::string>;

// Each of these returns an empty string, or one line about the first error,
// which says what is legal; *options then is partly changed.

// Reads "deltabloom:9.9:local" or a beginning of it. Options that are not in
// the URI stay as they are.
std::string ParsePolicyUri(std::string_view uri, PolicyOptions* options);

// Sets options by name, as many as can be read, and the notice. `in_use`: the
// options are those of a policy that is in use, of which some are fixed. Names
// that are unknown, "id" aside, are an error, or with ignores_unknown a line of
// the notice. Options of earlier versions are accepted where a policy is made.
std::string ApplyPolicyOptions(const OptionMap& map, bool in_use,
                               bool ignores_unknown, PolicyOptions* options);

// Reads a URI, or "id=deltabloom:10;layout=local" in braces or without, the id
// being optional; an empty text stands for the defaults.
std::string ParsePolicyOptions(std::string_view text, PolicyOptions* options);

// Prints all options: "bits_per_key=9.9 layout=local ...".
std::string PrintPolicyOptions(const PolicyOptions& options);

}  // namespace deltabloom::internal
