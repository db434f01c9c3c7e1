// The keys and values of the torture. Both are computed from numbers, so that a
// journal of numbers tells what a database must hold.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_KEYS_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deltabloom::torture {

// Column families come and go; a slot is the place of one.
inline constexpr uint32_t kSlots = 4;
// The slot whose comparator takes capital and small letters for the same, so
// that its filters need a key transform.
inline constexpr uint32_t kFoldedSlot = 3;
// The slot with universal compaction.
inline constexpr uint32_t kUniversalSlot = 2;

// Every writer owns a range of the keys of each slot.
inline constexpr uint32_t kWriters = 3;
inline constexpr uint32_t kKeysPerWriter = 800;
inline constexpr uint32_t kKeys = kWriters * kKeysPerWriter;

// Keys of one group share kPrefixSize bytes.
inline constexpr uint32_t kKeysPerGroup = 10;
inline constexpr size_t kPrefixSize = 6;

// The name of the column family in a slot, for its n-th generation. Slot 0 is
// the default one, which cannot be dropped.
std::string FamilyName(uint32_t slot, uint32_t generation);
// False for a name that is none of these.
bool ParseFamilyName(std::string_view name, uint32_t* slot,
                     uint32_t* generation);

// Key number `key` of a slot, in small letters; in the order of the numbers.
std::string KeyText(uint32_t slot, uint32_t key);
// A key of no number, right behind that of `key`.
std::string AbsentKeyText(uint32_t slot, uint32_t key);
// Some letters made capital, which ones depends on `random`.
std::string WithCapitals(std::string text, uint64_t random);
std::string WithoutCapitals(std::string text);
// False for bytes that are no key of the slot.
bool ParseKey(uint32_t slot, std::string_view text, uint32_t* key);

// What is stored by write number `id`: the number and some filling.
std::string ValueText(uint64_t id);
// What a merge of `operand` into `value`, if there is one, gives.
std::string Merged(const std::optional<std::string>& value,
                   std::string_view operand);
// A value as failures show it: the numbers of the writes it is made of.
std::string DescribeValue(const std::optional<std::string>& value);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_KEYS_H_
