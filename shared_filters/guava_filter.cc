#include "deltabloom/guava_filter.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/guava_format.h"
#include "shared_filters/murmur3.h"
#include "shared_filters/offsets.h"
#include "util/rates/rates.h"

namespace deltabloom {

using internal::AtomicBits;
using internal::Murmur3Hash;

struct GuavaFilter::Rep {
  explicit Rep(const internal::GuavaShape& filter_shape)
      : shape(filter_shape), bits(filter_shape.words), divisor(bits.bits()) {}

  // Calls fn(bit) for each bit of the key while it returns true.
  template <typename Fn>
  void ForEachBit(std::string_view key, Fn fn) const {
    const Murmur3Hash hash = internal::HashMurmur3(key);
    if (shape.strategy == GuavaStrategy::kMurmur128Mitz32) {
      for (uint32_t i = 0; i < shape.hash_functions; ++i) {
        if (!fn(internal::GuavaMitz32Offset(hash, i, divisor))) return;
      }
    } else {
      for (uint32_t i = 0; i < shape.hash_functions; ++i) {
        if (!fn(internal::GuavaMitz64Offset(hash, i, divisor))) return;
      }
    }
  }

  const internal::GuavaShape shape;
  AtomicBits bits;
  const internal::Divisor divisor;
};

GuavaFilter::GuavaFilter(const GuavaFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(internal::GuavaShapeOf(options));
}

GuavaFilter::GuavaFilter(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

GuavaFilter::~GuavaFilter() = default;

std::unique_ptr<GuavaFilter> GuavaFilter::FromBytes(std::string_view bytes,
                                                    std::string* error) {
  internal::GuavaShape shape;
  const std::string problem = internal::ParseGuavaHeader(bytes, &shape);
  if (!problem.empty()) {
    if (error != nullptr) *error = problem;
    return nullptr;
  }
  auto rep = std::make_unique<Rep>(shape);
  for (uint64_t i = 0; i < shape.words; ++i) {
    rep->bits.Or(i, internal::GuavaWord(bytes, i));
  }
  return std::unique_ptr<GuavaFilter>(new GuavaFilter(std::move(rep)));
}

bool GuavaFilter::Put(std::string_view key) {
  AtomicBits& bits = rep_->bits;
  bool changed = false;
  rep_->ForEachBit(key, [&](uint64_t bit) {
    changed |= bits.Set(bit);
    return true;
  });
  return changed;
}

bool GuavaFilter::MightContain(std::string_view key) const {
  bool might_contain = true;
  rep_->ForEachBit(key, [&](uint64_t bit) {
    might_contain = rep_->bits.Get(bit);
    return might_contain;
  });
  return might_contain;
}

uint64_t GuavaFilter::ApproximateElementCount() const {
  const auto bits = static_cast<double>(Bits());
  const auto set = static_cast<double>(rep_->bits.SetBits());
  // In the order of Guava's operations, so that the last digits agree.
  const double keys = -std::log1p(-(set / bits)) * bits / HashFunctions();
  return std::isfinite(keys) ? static_cast<uint64_t>(std::llround(keys))
                             : UINT64_MAX;
}

double GuavaFilter::ExpectedFpp() const {
  return std::pow(
      static_cast<double>(rep_->bits.SetBits()) / static_cast<double>(Bits()),
      HashFunctions());
}

bool GuavaFilter::IsCompatible(const GuavaFilter& other) const {
  return this != &other && rep_->shape == other.rep_->shape;
}

void GuavaFilter::PutAll(const GuavaFilter& other) {
  if (this == &other) {
    throw std::invalid_argument("a filter cannot be put into itself");
  }
  if (!IsCompatible(other)) {
    throw std::invalid_argument(
        "a filter of " + internal::DescribeGuava(other.rep_->shape) +
        " cannot be put into one of " + internal::DescribeGuava(rep_->shape));
  }
  for (uint64_t i = 0; i < rep_->bits.words(); ++i) {
    rep_->bits.Or(i, other.rep_->bits.Word(i));
  }
}

void GuavaFilter::AppendTo(std::string* dst) const {
  internal::AppendGuavaHeader(rep_->shape, dst);
  const size_t start = dst->size();
  dst->resize(start + rep_->bits.words() * sizeof(uint64_t));
  for (uint64_t i = 0; i < rep_->bits.words(); ++i) {
    internal::StoreGuavaWord(&(*dst)[start], i, rep_->bits.Word(i));
  }
}

uint64_t GuavaFilter::Bits() const { return rep_->bits.bits(); }
uint32_t GuavaFilter::HashFunctions() const {
  return rep_->shape.hash_functions;
}
GuavaStrategy GuavaFilter::Strategy() const { return rep_->shape.strategy; }

}  // namespace deltabloom
