// The registry of key transforms.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_TRANSFORMS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_TRANSFORMS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/key_transform.h"

namespace deltabloom::internal {

// A transform that is registered, and stays so.
struct RegisteredTransform {
  KeyTransform transform;
  std::string text;  // NAME@VERSION
  uint32_t id;       // in filters
};

// The name of no transform in texts.
inline constexpr char kNoTransform[] = "none";

// The id of docs/format.md, "Key transform".
uint32_t KeyTransformId(std::string_view text);

// The transform of "NAME@VERSION", or the one of "NAME" with the highest
// version; null if there is none.
const RegisteredTransform* FindKeyTransform(std::string_view text);
const RegisteredTransform* FindKeyTransform(uint32_t id);

// The option key_transform: what FindKeyTransform has for it, null for no
// transform; and what is wrong with it, if anything.
const RegisteredTransform* KeyTransformOf(std::string_view option);
std::string KeyTransformProblem(std::string_view option);

// "ascii_lowercase@1, trim_trailing_spaces@1": all, in order.
std::string KeyTransformNames();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_KEY_TRANSFORMS_H_
