#include "deltabloom/go_murmur3_filter.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/murmur3.h"
#include "shared_filters/offsets.h"

namespace deltabloom {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint32_t kMaxProbes = 256;

// The bits of a byte in opposite order.
uint64_t ReverseBits(unsigned char byte) {
  uint64_t reversed = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    reversed |= uint64_t{byte >> bit & 1u} << (7 - bit);
  }
  return reversed;
}

// The offset of the last bit that is set, or -1.
int64_t LastSetBit(std::string_view bitmap) {
  for (size_t i = bitmap.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(bitmap[i]);
    for (unsigned bit = 8; bit-- > 0;) {
      if ((byte & 0x80u >> bit) != 0) return static_cast<int64_t>(8 * i + bit);
    }
  }
  return -1;
}

}  // namespace

std::string GoMurmur3FilterOptions::Validate() const {
  if (bits == 0) return "bits = 0 is out of range: use 1 or more";
  if (probes == 0 || probes > kMaxProbes) {
    return "probes = " + std::to_string(probes) +
           " is out of range: use 1 to 256";
  }
  return {};
}

struct GoMurmur3Filter::Rep {
  explicit Rep(const GoMurmur3FilterOptions& filter_options)
      : options(filter_options),
        divisor(filter_options.bits),
        bits((filter_options.bits - 1) / internal::AtomicBits::kWordBits + 1) {}

  const GoMurmur3FilterOptions options;
  const internal::Divisor divisor;
  internal::AtomicBits bits;
};

GoMurmur3Filter::GoMurmur3Filter(const GoMurmur3FilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

GoMurmur3Filter::~GoMurmur3Filter() = default;

bool GoMurmur3Filter::Add(std::string_view key) {
  const internal::Murmur3 hash(key);
  bool changed = false;
  for (uint32_t probe = 0; probe < rep_->options.probes; ++probe) {
    const uint64_t bit = internal::GoMurmur3Offset(
        hash, static_cast<uint8_t>(probe), rep_->divisor);
    changed |= rep_->bits.Set(bit);
  }
  return changed;
}

bool GoMurmur3Filter::MayMatch(std::string_view key) const {
  const internal::Murmur3 hash(key);
  for (uint32_t probe = 0; probe < rep_->options.probes; ++probe) {
    if (!rep_->bits.Get(internal::GoMurmur3Offset(
            hash, static_cast<uint8_t>(probe), rep_->divisor))) {
      return false;
    }
  }
  return true;
}

uint64_t GoMurmur3Filter::SetBits() const { return rep_->bits.SetBits(); }

double GoMurmur3Filter::FalsePositiveRate() const {
  return std::pow(static_cast<double>(SetBits()) / static_cast<double>(Bits()),
                  Probes());
}

void GoMurmur3Filter::AppendBitmap(std::string* dst) const {
  const size_t start = dst->size();
  const uint64_t size = (Bits() - 1) / 8 + 1;
  dst->resize(start + size);
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t byte =
        rep_->bits.Word(i / kWordBytes) >> (i % kWordBytes * 8) & 0xff;
    (*dst)[start + i] =
        static_cast<char>(ReverseBits(static_cast<unsigned char>(byte)));
  }
}

std::string GoMurmur3Filter::MergeBitmap(std::string_view bitmap) {
  int64_t last = LastSetBit(bitmap);
  if (last > 0 && static_cast<uint64_t>(last) > Bits()) {
    return "bit " + std::to_string(last) + " is set in a bitmap for " +
           std::to_string(Bits()) +
           " bits: it is that of a filter of another size";
  }
  const uint64_t size = std::min<uint64_t>(bitmap.size(), (Bits() - 1) / 8 + 1);
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t byte = ReverseBits(static_cast<unsigned char>(bitmap[i]));
    const uint64_t bits_left = Bits() - 8 * i;
    if (bits_left < 8) byte &= (uint64_t{1} << bits_left) - 1;
    rep_->bits.Or(i / kWordBytes, byte << (i % kWordBytes * 8));
  }
  return {};
}

uint64_t GoMurmur3Filter::Bits() const { return rep_->options.bits; }
uint32_t GoMurmur3Filter::Probes() const { return rep_->options.probes; }

}  // namespace deltabloom
