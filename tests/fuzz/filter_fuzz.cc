// Any bytes as a filter: no read out of bounds, and every way to ask gives the
// same answer.
//
// Input: size of the key, the key, the filter.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"

namespace {

using namespace deltabloom;

void Check(bool condition) {
  if (!condition) std::abort();
}

void AskRaw(std::string_view filter, std::string_view key, Hash hash) {
  const Filter view(filter, hash);
  const bool answer = view.MayMatch(key);
  const std::string_view keys[] = {key, "", key, "another key", key};
  bool answers[5];
  view.MayMatch(keys, 5, answers);
  Check(answers[0] == answer && answers[2] == answer && answers[4] == answer);
  Check(answers[1] == view.MayMatch(""));

  FilterOptions options;
  options.hash = hash;
  Check(NewFilterPolicy(options)->KeyMayMatch(key, filter) == answer);
  // What is documented to match every key or none.
  if (filter.size() <= 1) Check(!answer);
  if (filter.size() > 1 && filter.back() == 0) Check(answer);
}

void AskSealed(std::string_view filter, std::string_view key) {
  internal::ParsedFilter parsed;
  const internal::FilterKind kind =
      internal::ParseSealed(filter, internal::ActiveCpu(), &parsed, nullptr);
  const bool answer = parsed.may_match(parsed, key);
  if (kind == internal::FilterKind::kEmpty) Check(!answer);
  if (kind == internal::FilterKind::kAlways) Check(answer);
  if (kind == internal::FilterKind::kForeign) Check(answer);

  // The same by a reader that maps keys.
  internal::HashedKeys keys;
  internal::ParsedFilter mapped;
  const internal::FilterKind mapped_kind = internal::ParseSealed(
      filter, internal::ActiveCpu(), &keys, &mapped, nullptr);
  if (keys.AsTheyAre()) {
    Check(mapped_kind == kind);
    Check(mapped.may_match(mapped, key) == answer);
  } else {
    Check(kind == internal::FilterKind::kAlways);
    char seeded[internal::kSeededKeySize];
    internal::SeededKey(keys.seed, key, seeded);
    const std::string_view seeded_key(seeded, sizeof(seeded));
    const bool may_match = mapped.may_match(mapped, seeded_key);
    if (mapped_kind == internal::FilterKind::kEmpty) Check(!may_match);
    if (mapped_kind == internal::FilterKind::kAlways) Check(may_match);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t key_size = data[0] % size;
  // Copies of their own, so that ASan sees the ends of both.
  const std::vector<char> key(data + 1, data + 1 + key_size);
  const std::vector<char> filter(data + 1 + key_size, data + size);
  const std::string_view key_view(key.data(), key.size());
  const std::string_view filter_view(filter.data(), filter.size());
  AskRaw(filter_view, key_view, Hash::kMurmurHash2);
  AskRaw(filter_view, key_view, Hash::kLevelDB);
  AskSealed(filter_view, key_view);
  DescribeFilter(filter_view);
  return 0;
}
