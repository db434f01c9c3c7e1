// The AVX-512 lookups of the layout compact over SIMDe's emulation of the
// intrinsics, in place of the native ones: so they are tested on CPUs without
// AVX-512. They answer what the portable ones do, and read nothing after the
// payload. Says nothing about their speed.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <gtest/gtest.h>
#include <simde/x86/avx512.h>

#include <cstdint>
#include <cstring>

using __mmask8 = simde__mmask8;

// Older versions of SIMDe lack this one; that of newer ones reads all words.
#undef _mm512_maskz_loadu_epi64
inline __m512i _mm512_maskz_loadu_epi64(__mmask8 mask, const void* from) {
  uint64_t words[8] = {};
  for (int i = 0; i < 8; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::memcpy(&words[i], static_cast<const char*>(from) + i * 8, 8);
  }
  return _mm512_loadu_si512(words);
}

#define DELTABLOOM_TARGET

#include "tests/layouts/compact_hashes.h"
#include "util/key_batch.h"
#include "util/layouts/compact/avx512.cc"
#include "util/layouts/compact/compact.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal::compact {
namespace {

// Few keys, so that many lookups end in each column.
TEST(CompactAvx512, EqualsPortable) {
  test::Random random(test::SeedOr(20260503));
  for (unsigned columns = 1; columns <= kMaxColumns; ++columns) {
    for (uint64_t missing : {0u, 1u, 9u, 21u}) {
      SCOPED_TRACE(testing::Message()
                   << columns << " columns, " << missing << " words missing");
      const auto keys = random.Keys(1100, 16);
      std::vector<uint64_t> hashes;
      for (const auto& key : keys) hashes.push_back(Hash64(key));
      const reference::CompactBlocks blocks = {17, 2, 1};
      const uint64_t size =
          test::PayloadSize(blocks, columns, columns == 1 ? 0 : missing);
      const std::string payload =
          test::Build(hashes, blocks, size, Cpu::kPortable);
      ASSERT_FALSE(payload.empty());

      // An allocation that ends where the payload ends.
      const std::unique_ptr<unsigned char[]> bytes(new unsigned char[size]);
      std::memcpy(bytes.get(), payload.data(), size);
      ParsedFilter parsed{};
      parsed.payload = bytes.get();
      parsed.payload_size = size;
      ASSERT_TRUE(kRow.parse(kMarker, Cpu::kPortable, &parsed));

      auto queries = random.Keys(1000, 12);
      queries.insert(queries.end(), keys.begin(), keys.end());
      const std::vector<std::string_view> views(queries.begin(), queries.end());
      const std::unique_ptr<bool[]> many(new bool[views.size()]);
      ParsedFilter wide = parsed;
      SetLookup(Avx512().lookup[parsed.shape.As<Shape>().columns - 1], &wide);
      MayMatchViews(wide, views.data(), views.size(), many.get());
      for (size_t i = 0; i < views.size(); ++i) {
        const bool answer = parsed.may_match(parsed, views[i]);
        ASSERT_TRUE(answer || i < 1000);
        ASSERT_EQ(wide.may_match(wide, views[i]), answer);
        ASSERT_EQ(many[i], answer);
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal::compact
