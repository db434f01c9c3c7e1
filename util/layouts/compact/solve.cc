#include "util/layouts/compact/solve.h"

#include <utility>

#include "util/coding.h"

namespace deltabloom::internal::compact {
namespace {

template <typename Fingerprint>
using SolveFn = void (*)(const Shape&, const uint64_t*, const Fingerprint*,
                         unsigned char*);

// A column word under construction holds the 64 rows from the current one on;
// after the first row of a block that is the block's word.
template <unsigned kColumns, typename Fingerprint>
inline void SolveWidth(const Shape& shape, const uint64_t* coefficients,
                       const Fingerprint* fingerprints,
                       unsigned char* columns) {
  uint64_t column[kColumns] = {};
  for (uint64_t block = shape.blocks(); block-- > 0;) {
    for (uint64_t row = (block + 1) * kBlockRows; row-- > block * kBlockRows;) {
      const uint64_t equation = coefficients[row];
      const uint64_t fingerprint = fingerprints[row];
      for (unsigned j = 0; j < kColumns; ++j) {
        column[j] <<= 1;
        column[j] |=
            (static_cast<uint64_t>(__builtin_parityll(column[j] & equation)) ^
             fingerprint >> j) &
            1;
      }
    }
    unsigned char* to = columns + shape.FirstWord(block) * 8;
    const unsigned width = shape.Width(block);
    for (unsigned j = 0; j < width; ++j) StoreFixed64(to + j * 8, column[j]);
  }
}

template <unsigned kColumns, typename Fingerprint>
__attribute__((flatten)) void SolvePortable(const Shape& shape,
                                            const uint64_t* coefficients,
                                            const Fingerprint* fingerprints,
                                            unsigned char* columns) {
  SolveWidth<kColumns>(shape, coefficients, fingerprints, columns);
}

#if defined(__x86_64__)
template <unsigned kColumns, typename Fingerprint>
DELTABLOOM_TARGET_AVX2 __attribute__((flatten)) void SolveAvx2(
    const Shape& shape, const uint64_t* coefficients,
    const Fingerprint* fingerprints, unsigned char* columns) {
  SolveWidth<kColumns>(shape, coefficients, fingerprints, columns);
}
#endif

// The columns that need a Fingerprint and no narrower one.
template <typename Fingerprint>
constexpr unsigned kMostColumns = sizeof(Fingerprint) * 8;
template <typename Fingerprint>
constexpr unsigned kFewestColumns = sizeof(Fingerprint) == 1
                                        ? 1
                                        : kMostColumns<Fingerprint> / 2 + 1;

template <typename Fingerprint, size_t... kIndex>
SolveFn<Fingerprint> Choose(unsigned columns, Cpu cpu,
                            std::index_sequence<kIndex...>) {
  constexpr unsigned kFewest = kFewestColumns<Fingerprint>;
  static constexpr SolveFn<Fingerprint> kPortable[] = {
      SolvePortable<kFewest + kIndex, Fingerprint>...};
#if defined(__x86_64__)
  static constexpr SolveFn<Fingerprint> kAvx2[] = {
      SolveAvx2<kFewest + kIndex, Fingerprint>...};
  if (cpu.Has(Cpu(Cpu::kAvx2))) return kAvx2[columns - kFewest];
#endif
  static_cast<void>(cpu);
  return kPortable[columns - kFewest];
}

}  // namespace

template <typename Fingerprint>
void Solve(const Shape& shape, Cpu cpu, const uint64_t* coefficients,
           const Fingerprint* fingerprints, unsigned char* columns) {
  constexpr size_t kWidths =
      kMostColumns<Fingerprint> - kFewestColumns<Fingerprint> + 1;
  const auto solve = Choose<Fingerprint>(shape.columns, cpu,
                                         std::make_index_sequence<kWidths>());
  solve(shape, coefficients, fingerprints, columns);
}

template void Solve(const Shape&, Cpu, const uint64_t*, const uint8_t*,
                    unsigned char*);
template void Solve(const Shape&, Cpu, const uint64_t*, const uint16_t*,
                    unsigned char*);
template void Solve(const Shape&, Cpu, const uint64_t*, const uint32_t*,
                    unsigned char*);

}  // namespace deltabloom::internal::compact
