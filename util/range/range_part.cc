#include "util/range/range_part.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kVersion = 1;
constexpr char kNumbers = 1;
constexpr char kTexts = 2;
constexpr size_t kHeaderSize = 2;
constexpr double kMaxBitsPerKey = 1000;

}  // namespace

uint64_t MaxRangePartSize(uint64_t keys, double bits_per_key) {
  if (!(bits_per_key > 0)) return 0;
  const double bytes =
      std::min(bits_per_key, kMaxBitsPerKey) * static_cast<double>(keys) / 8;
  return kRangePartFreeBytes +
         static_cast<uint64_t>(std::min(bytes, std::ldexp(1.0, 40)));
}

RangePartBuilder::RangePartBuilder(double bits_per_key, uint64_t range_length)
    : bits_per_key_(bits_per_key), range_length_(range_length) {}

void RangePartBuilder::AddKey(std::string_view key) noexcept {
  if (gave_up_) return;
  try {
    if (keys_.Add(key)) return;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  gave_up_ = true;
  keys_.Clear();
}

size_t RangePartBuilder::EstimatedBuildBytes() const {
  // Keys of one size may turn out to be no numbers.
  const uint64_t per_key =
      std::max(range::kNumbersBytesPerKey, range::kTextsBytesPerKey);
  return keys_.MemorySize() + static_cast<size_t>(per_key * keys_.size());
}

bool RangePartBuilder::AppendBody(std::string* dst) const {
  const uint64_t bytes = MaxRangePartSize(keys_.size(), bits_per_key_) -
                         kHeaderSize - kRangePartSizeSize;
  const bool numbers = range::AreNumbers(keys_);
  dst->push_back(kVersion);
  dst->push_back(numbers ? kNumbers : kTexts);
  return numbers ? range::AppendNumbers(keys_, bytes, range_length_, dst)
                 : range::AppendTexts(keys_, bytes, dst);
}

bool RangePartBuilder::Finish(std::string* dst) noexcept {
  const size_t start = dst->size();
  bool done = false;
  try {
    if (!gave_up_ && keys_.size() > 0 && bits_per_key_ > 0) {
      keys_.Close();
      done = AppendBody(dst);
      if (done) {
        char size[kRangePartSizeSize];
        StoreFixed64(size, dst->size() - start);
        dst->append(size, sizeof(size));
      }
    }
  } catch (const std::bad_alloc&) {
    done = false;
  } catch (const std::length_error&) {
    done = false;
  }
  if (!done) dst->resize(start);
  gave_up_ = false;
  keys_.Clear();
  return done;
}

RangePart::RangePart(std::string_view range_part) {
  if (range_part.size() < kHeaderSize + kRangePartSizeSize) return;
  const size_t size = range_part.size() - kRangePartSizeSize;
  if (LoadFixed64(range_part.data() + size) != size ||
      range_part[0] != kVersion) {
    return;
  }
  const std::string_view body =
      range_part.substr(kHeaderSize, size - kHeaderSize);
  bool parsed = false;
  if (range_part[1] == kNumbers) {
    parsed = shape_.emplace<range::Numbers>().Parse(body);
  } else if (range_part[1] == kTexts) {
    parsed = shape_.emplace<range::Texts>().Parse(body);
  }
  if (!parsed) shape_.emplace<std::monostate>();
}

bool RangePart::MayMatch(std::string_view lower, std::string_view upper) const {
  if (lower >= upper) return true;
  if (const auto* numbers = std::get_if<range::Numbers>(&shape_)) {
    return numbers->MayMatch(lower, upper);
  }
  if (const auto* texts = std::get_if<range::Texts>(&shape_)) {
    return texts->MayMatch(lower, upper);
  }
  return true;
}

bool RangePart::HasKeyFrom(std::string_view bound) const {
  if (const auto* numbers = std::get_if<range::Numbers>(&shape_)) {
    return numbers->HasKeyFrom(bound);
  }
  if (const auto* texts = std::get_if<range::Texts>(&shape_)) {
    return texts->HasKeyFrom(bound);
  }
  return false;
}

std::string RangePart::Describe() const {
  if (const auto* numbers = std::get_if<range::Numbers>(&shape_)) {
    return numbers->Describe();
  }
  if (const auto* texts = std::get_if<range::Texts>(&shape_)) {
    return texts->Describe();
  }
  return "damaged or of another version";
}

bool RangeMayMatch(std::string_view range_part, std::string_view lower,
                   std::string_view upper) {
  return RangePart(range_part).MayMatch(lower, upper);
}

}  // namespace deltabloom::internal
