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

namespace deltabloom::internal {

// The name of the policy in URIs, OPTIONS files and table properties.
inline constexpr char kPolicyName[] = "deltabloom";

struct PolicyOptions : RocksDBFilterOptions {
  // Copies options, with the defaults of all that they do not have. Returns
  // what Validate() does.
  std::string Set(const RocksDBFilterOptions& options);

  // Rounded, but what is below kMinBitsPerKey stays below it.
  uint32_t MillibitsPerKey() const;

  // A policy with such options must write and read no filter.
  bool TransformIsUnknown() const {
    return transform == nullptr && key_transform != kNoTransform;
  }

  // True if bits_per_key was set by a text, or by Set() to another value than
  // the default.
  bool bits_given = false;
  // That of key_transform, which then is NAME@VERSION; null for "none" and for
  // one that is not registered.
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

// Options are printed in this order. A URI sets the first three by their place.
extern const PolicyOption kPolicyOptions[16];

using OptionMap = std::unordered_map<std::string, std::string>;

// Each of these returns an empty string, or one line about the first error,
// which says what is legal; *options then is partly changed.

// Reads "deltabloom:9.9:classic:levels" or a beginning of it. Options that are
// not in the URI stay as they are.
std::string ParsePolicyUri(std::string_view uri, PolicyOptions* options);

// Sets options by name, as many as can be read. `in_use`: the options are those
// of a policy that is in use, in which bits_per_key replaces
// false_positive_rate and filter_memory, and some options are fixed. Unknown
// names, "id" aside, are an error; or, if `ignored` is not null, *ignored is
// set to "'name', 'name'".
std::string ApplyPolicyOptions(const OptionMap& map, bool in_use,
                               PolicyOptions* options,
                               std::string* ignored = nullptr);

// Reads a URI, or "id=deltabloom:10;layout=auto" in braces or without, the id
// being optional; an empty text stands for the defaults.
std::string ParsePolicyOptions(std::string_view text, PolicyOptions* options);

// Prints all options: "bits_per_key=9.9 layout=classic allocation=uniform ...".
std::string PrintPolicyOptions(const PolicyOptions& options);

}  // namespace deltabloom::internal
