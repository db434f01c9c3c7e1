#include "deltabloom/go_murmur3_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/memory/murmur3.h"

namespace deltabloom {

constexpr uint64_t kWordBytes = 8;
constexpr uint32_t kMaxProbes = 256;

std::string GoMurmur3FilterOptions::Validate() const {
  if (bits == 0) return "bits = 0 is out of range: use 1 or more";
  if (probes == 0 || probes > kMaxProbes) {
    return "probes = " + std::to_string(probes) +
           " is out of range: use 1 to 256";
  }
  return {};
}

struct GoMurmur3Filter::Rep {
  explicit Rep(const GoMurmur3FilterOptions& given) : options(given) {}

  auto OffsetsOf(std::string_view key) const {
    return [this, hash = internal::Murmur3(key)](uint32_t probe) {
      return internal::GoMurmur3Offset(hash, static_cast<uint8_t>(probe),
                                       divisor);
    };
  }

  const GoMurmur3FilterOptions options;
  const internal::Divisor divisor{options.bits};
  internal::AtomicBits bits{
      (options.bits - 1) / internal::AtomicBits::kWordBits + 1};
};

GoMurmur3Filter::GoMurmur3Filter(const GoMurmur3FilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

GoMurmur3Filter::~GoMurmur3Filter() = default;

bool GoMurmur3Filter::Add(std::string_view key) {
  return rep_->bits.SetAll(Probes(), rep_->OffsetsOf(key));
}

bool GoMurmur3Filter::MayMatch(std::string_view key) const {
  return rep_->bits.GetAll(Probes(), rep_->OffsetsOf(key));
}

uint64_t GoMurmur3Filter::SetBits() const { return rep_->bits.SetBits(); }

double GoMurmur3Filter::FalsePositiveRate() const {
  return std::pow(static_cast<double>(SetBits()) / static_cast<double>(Bits()),
                  Probes());
}

void GoMurmur3Filter::AppendBitmap(std::string* dst) const {
  const uint64_t size = (Bits() - 1) / 8 + 1;
  for (uint64_t i = 0; i < size; ++i) {
    dst->push_back(internal::ReverseBits(static_cast<char>(
        rep_->bits.Word(i / kWordBytes) >> (i % kWordBytes * 8))));
  }
}

std::string GoMurmur3Filter::MergeBitmap(std::string_view bitmap) {
  const size_t end = bitmap.find_last_not_of('\0') + 1;
  bitmap = bitmap.substr(0, end);
  if (bitmap.empty()) return {};
  const auto last_byte = static_cast<unsigned char>(bitmap.back());
  const uint64_t last =
      8 * end - 1 - static_cast<unsigned>(__builtin_ctz(last_byte));
  if (last > Bits()) {
    return "bit " + std::to_string(last) + " is set in a bitmap for " +
           std::to_string(Bits()) +
           " bits: it is that of a filter of another size";
  }
  const uint64_t size = std::min<uint64_t>(end, (Bits() - 1) / 8 + 1);
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t byte =
        static_cast<unsigned char>(internal::ReverseBits(bitmap[i]));
    const uint64_t bits_left = Bits() - 8 * i;
    if (bits_left < 8) byte &= (uint64_t{1} << bits_left) - 1;
    rep_->bits.Or(i / kWordBytes, byte << (i % kWordBytes * 8));
  }
  return {};
}

uint64_t GoMurmur3Filter::Bits() const { return rep_->options.bits; }
uint32_t GoMurmur3Filter::Probes() const { return rep_->options.probes; }

}  // namespace deltabloom
