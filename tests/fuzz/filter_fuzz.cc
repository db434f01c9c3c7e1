// Queries any bytes as a filter, raw and sealed: no read is out of bounds, and
// every way to query them, at every CPU level, gives the same answer.
//
// Input: size of the key, the key, the filter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"
#include "tests/fuzz/harness.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;

struct Answers {
  FilterKind kind = FilterKind::kAlways;
  std::vector<bool> of_keys;
};

// parse(Cpu, ParsedFilter*) at every level.
template <typename Parse>
Answers AskAtEveryLevel(const Parse& parse,
                        const std::vector<std::string_view>& keys) {
  Answers first;
  for (const Cpu cpu : Levels()) {
    ParsedFilter parsed;
    const FilterKind kind = parse(cpu, &parsed);
    const Answers now = {kind, Ask(parsed, keys)};
    if (first.of_keys.empty()) first = now;
    Check(now.kind == first.kind && now.of_keys == first.of_keys);
  }
  return first;
}

bool All(const Answers& answers, bool wanted) {
  return std::count(answers.of_keys.begin(), answers.of_keys.end(), !wanted) ==
         0;
}

// Checks that an empty filter matches no key and unknown bytes match every key.
void CheckKind(const Answers& answers) {
  if (answers.kind == FilterKind::kFilter) return;
  Check(All(answers, answers.kind != FilterKind::kEmpty));
}

Answers AskRaw(std::string_view filter, Hash hash,
               const std::vector<std::string_view>& keys) {
  const Answers answers = AskAtEveryLevel(
      [&](Cpu cpu, ParsedFilter* parsed) {
        return ParseRaw(filter, hash, cpu, parsed, nullptr);
      },
      keys);
  // docs/format.md says that these bytes match no key or every key.
  if (filter.size() <= 1) Check(All(answers, false));
  if (filter.size() > 1 && filter.back() == 0) Check(All(answers, true));

  Check(Filter(filter, hash).MayMatch(keys[0]) == answers.of_keys[0]);
  FilterOptions options;
  options.hash = hash;
  Check(NewFilterPolicy(options)->KeyMayMatch(keys[0], filter) ==
        answers.of_keys[0]);
  return answers;
}

// Parses the bytes as a reader that maps keys does, and compares the answers
// with those of a reader that does not.
void AskMapped(std::string_view filter, FilterKind plain_kind,
               const std::vector<std::string_view>& keys) {
  HashedKeys hashed;
  const auto parse = [&](Cpu cpu, ParsedFilter* parsed) {
    return ParseSealed(filter, cpu, &hashed, parsed, nullptr);
  };
  const Answers answers = AskAtEveryLevel(parse, keys);
  Check(plain_kind ==
        (hashed.AsTheyAre() ? answers.kind : FilterKind::kAlways));
  if (answers.kind != FilterKind::kForeign) CheckKind(answers);
  if (!hashed.seeded) return;
  char seeded[kSeededKeySize];
  SeededKey(hashed.seed, keys[0], seeded);
  AskAtEveryLevel(parse, {std::string_view(seeded, sizeof(seeded))});
}

Answers AskSealed(std::string_view filter,
                  const std::vector<std::string_view>& keys) {
  const Answers answers = AskAtEveryLevel(
      [&](Cpu cpu, ParsedFilter* parsed) {
        return ParseSealed(filter, cpu, nullptr, parsed, nullptr);
      },
      keys);
  CheckKind(answers);
  AskMapped(filter, answers.kind, keys);
  return answers;
}

// The raw filter under a trailer that is right, so that its payload is asked.
void Reseal(std::string_view raw, const Answers& of_raw, bool payload_check,
            const std::vector<std::string_view>& keys) {
  const size_t payload_size = raw.size() - 1;
  SealOptions options;
  options.payload_check = payload_check;
  std::vector<char> sealed(payload_size + SealedFramingSize(options));
  std::copy_n(raw.begin(), payload_size, sealed.begin());
  Seal(reinterpret_cast<unsigned char*>(sealed.data()), payload_size,
       static_cast<uint8_t>(raw.back()), options);
  const Answers answers = AskSealed(View(sealed), keys);
  if (payload_size == 0) return;
  Check(answers.kind == of_raw.kind && answers.of_keys == of_raw.of_keys);
  if (!payload_check) return;
  sealed[payload_size / 2] ^= 1;
  Check(AskSealed(View(sealed), keys).kind == FilterKind::kAlways);
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto first = static_cast<uint8_t>(bytes[0]);
  const size_t key_size = first % bytes.size();
  Input input(bytes.substr(1));
  const std::vector<char> key = input.Bytes(key_size);
  const std::vector<char> filter_bytes = input.Rest();
  const std::string_view filter = View(filter_bytes);
  // Batches that end within the vectors of kernels, and beyond them.
  std::vector<std::string_view> keys = {View(key), "", "another key"};
  for (size_t i = 0; i < key_size % 16; ++i)
    keys.push_back(keys[0].substr(std::min(i * i, keys[0].size())));

  const Answers raw = AskRaw(filter, Hash::kMurmurHash2, keys);
  AskRaw(filter, Hash::kLevelDB, keys);
  AskSealed(filter, keys);
  if (!filter.empty()) Reseal(filter, raw, first % 2 == 1, keys);
  DescribeFilter(filter);
}

}  // namespace deltabloom::fuzz
