// The interface through which LevelDB-shaped engines use filters: a named
// policy that turns the keys of a block or table into filter bytes.
#ifndef DELTABLOOM_FILTER_POLICY_H_
#define DELTABLOOM_FILTER_POLICY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace deltabloom {

// Thread-safe: every method may be called from many threads at once.
class DELTABLOOM_EXPORT FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // Returns the name of the format, not of the settings: policies that can read
  // each other's filters share a name. Store it beside the filters and use them
  // only with a policy of the same name; a wrong hash loses keys.
  virtual const char* Name() const = 0;

  // *Appends* to *dst a filter of keys[0 .. n-1]. All of them count towards
  // its size, duplicates too. May throw std::bad_alloc; *dst then may have more
  // bytes than before.
  virtual void CreateFilter(const std::string_view* keys, size_t n,
                            std::string* dst) const = 0;

  // Returns true for every key that CreateFilter put into `filter`, and for any
  // key if the bytes are not recognised. A filter of fewer than two bytes holds
  // no key.
  virtual bool KeyMayMatch(std::string_view key,
                           std::string_view filter) const = 0;
};

// Returns a policy of classic filters with MurmurHash2. bits_per_key: 0 to
// 1000; 10 gives about 1 % false positives. Returns null for other values.
DELTABLOOM_EXPORT std::unique_ptr<const FilterPolicy> NewBloomFilterPolicy(
    double bits_per_key);

// Returns a policy with any options; null if options.Validate() is not empty.
DELTABLOOM_EXPORT std::unique_ptr<const FilterPolicy> NewFilterPolicy(
    const FilterOptions& options);

}  // namespace deltabloom

#endif  // DELTABLOOM_FILTER_POLICY_H_
