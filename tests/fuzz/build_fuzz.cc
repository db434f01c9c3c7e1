// Keys and options of any kind, built and asked again: every added key is
// found, raw, sealed and in a filter block, whichever CPU level built the
// filter and whichever asks; and all levels write the same bytes.
//
// Input: 1 byte of flags, 2 of bits per key, 2 for the number of keys made up,
// 2 of max_build_bytes, then keys: a size of 1 byte and the bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"
#include "tests/fuzz/harness.h"
#include "tests/random.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;

// The most keys that are taken from the input itself.
constexpr size_t kMaxKeys = 200;

struct Case {
  FilterOptions options;
  SealOptions seal;
  uint32_t slack = 0;  // bytes more than planned that the filter may take
  std::vector<std::string> keys;
  std::vector<std::string_view> views;  // of these
};

// False for options that are refused.
bool TakeCase(std::string_view bytes, Case* made) {
  Input input(bytes);
  const unsigned flags = input.Byte();
  constexpr Layout kLayouts[] = {Layout::kClassic, Layout::kLocal,
                                 Layout::kCompact, Layout::kCompact};
  made->options.layout = kLayouts[flags % 4];
  if ((flags & 8) != 0 && made->options.layout == Layout::kClassic) {
    made->options.hash = Hash::kLevelDB;
  }
  made->seal.payload_check = (flags & 16) != 0;
  if ((flags & 32) != 0) made->slack = flags;
  // Bits per key go up to 65, or beyond 1000, which is rejected.
  const uint32_t bits = input.Number();
  made->options.bits_per_key = bits / ((flags & 64) != 0 ? 50.0 : 1000.0);
  // Mostly few keys are made up, for they cost the most time; enough for
  // compact now and then.
  const uint32_t wish = input.Number();
  size_t made_up = wish % 64 == 63 ? wish / 64 % 512 : wish / 64 % 16;
  const uint32_t limit = input.Number();
  if ((flags & 128) != 0) made->options.max_build_bytes = limit;
  if (!made->options.Validate().empty()) {
    Check(NewFilterPolicy(made->options) == nullptr);
    return false;
  }
  while (!input.empty() && made->keys.size() < kMaxKeys) {
    made->keys.push_back(input.Key(48));
  }
  test::Random random(bytes.size());
  for (; made_up > 0; --made_up) {
    made->keys.push_back(random.Key(random.Below(20)));
  }
  made->views = {made->keys.begin(), made->keys.end()};
  return true;
}

void ExpectAll(const ParsedFilter& parsed,
               const std::vector<std::string_view>& keys) {
  for (const bool answer : Ask(parsed, keys)) Check(answer);
}

void AskRaw(std::string_view filter, const Case& made) {
  for (const Cpu cpu : Levels()) {
    ParsedFilter parsed;
    ParseRaw(filter, made.options.hash, cpu, &parsed, nullptr);
    ExpectAll(parsed, made.views);
  }
}

void AskSealed(std::string_view filter, const LayoutRow& row,
               const Case& made) {
  for (const Cpu cpu : Levels()) {
    ParsedFilter parsed;
    const FilterKind kind = ParseSealed(filter, cpu, nullptr, &parsed, nullptr);
    Check(kind != FilterKind::kForeign);
    ExpectAll(parsed, made.views);
    if (kind != FilterKind::kFilter) continue;
    for (const std::string_view key : made.views) {
      Check(row.may_match_hash(parsed, row.hash(key)));
    }
  }
}

std::string BuildRaw(const Case& made) {
  FilterBuilder builder(made.options);
  for (const std::string& key : made.keys) builder.AddKey(key);
  Check(builder.KeysAdded() == made.keys.size());
  std::string filter = "in front";
  builder.Finish(&filter);
  Check(builder.KeysAdded() == 0);
  return filter.substr(8);
}

// The payload and the last byte, with room for a trailer in between.
std::vector<unsigned char> BuildAt(Cpu cpu, const Case& made, Plan* plan) {
  const LayoutRow* row = FindLayout(made.options.layout, made.options.hash);
  HashList hashes(row->hash_size);
  for (const std::string_view key : made.views) hashes.Add(row->hash(key));
  row = FindAffordableLayout(
      row, hashes.size(), ToMillibits(made.options.bits_per_key),
      hashes.MemorySize(), /*keep_hashes=*/false, made.options.max_build_bytes);
  std::vector<unsigned char> bytes;
  do {
    Check(row != nullptr);
    *plan =
        PlanFilter(row, hashes.size(), ToMillibits(made.options.bits_per_key));
    if (made.slack > 0) {
      plan->layout->grow(plan, plan->payload_size + made.slack);
    }
    bytes.assign(plan->payload_size, 0);
    row = plan->layout->fallback;
  } while (!plan->layout->build(&hashes, /*keep_hashes=*/made.slack > 0, *plan,
                                cpu, bytes.data()));
  return bytes;
}

void BuildSealed(std::string_view raw, const Case& made) {
  Plan plan;
  std::vector<unsigned char> first;
  for (const Cpu cpu : Levels()) {
    const std::vector<unsigned char> payload = BuildAt(cpu, made, &plan);
    if (first.empty()) first = payload;
    Check(payload == first);
  }
  if (made.slack == 0) {
    Check(std::equal(first.begin(), first.end(), raw.begin(), raw.end() - 1,
                     [](unsigned char a, char b) {
                       return a == static_cast<unsigned char>(b);
                     }));
    Check(static_cast<uint8_t>(raw.back()) == plan.last_byte);
  }
  first.resize(plan.payload_size + SealedFramingSize(made.seal));
  Seal(first.data(), plan.payload_size, plan.last_byte, made.seal);
  AskSealed({reinterpret_cast<const char*>(first.data()), first.size()},
            *plan.layout, made);
}

void BuildBlock(const Case& made) {
  const auto policy = NewFilterPolicy(made.options);
  FilterBlockBuilder builder(policy.get(), 11);
  const auto offset_of = [](size_t i) { return uint64_t{i} / 16 * 1500; };
  for (size_t i = 0; i < made.keys.size(); ++i) {
    builder.StartBlock(offset_of(i));
    builder.AddKey(made.keys[i]);
  }
  const std::string block(builder.Finish());
  Check(builder.error().empty());
  const FilterBlockReader reader(policy.get(), block);
  for (size_t i = 0; i < made.keys.size(); ++i) {
    Check(reader.KeyMayMatch(offset_of(i), made.keys[i]));
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  Case made;
  if (!TakeCase(bytes, &made) || made.keys.empty()) return;
  const std::string raw = BuildRaw(made);
  AskRaw(raw, made);
  // The sealed framing has one hash.
  if (made.options.hash == Hash::kMurmurHash2) BuildSealed(raw, made);
  BuildBlock(made);
}

}  // namespace deltabloom::fuzz
