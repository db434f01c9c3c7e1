#include "util/range/question.h"

#include <cstddef>
#include <string_view>

#include "util/hash64.h"
#include "util/range/bytes.h"
#include "util/range/key_range.h"
#include "util/range/place.h"
#include "util/range/places.h"
#include "util/range/prefix.h"

namespace deltabloom::internal::range {
namespace {

// Returns how many bits of its last byte a prefix of `bits` bits leaves free.
unsigned FreeBits(size_t bits) {
  return static_cast<unsigned>((8 - bits % 8) % 8);
}

// Returns the number of prefixes of this many bits from that of the smaller
// bound on to that of the larger one, both included; kMaxPrefixes + 1 if there
// are more than kMaxPrefixes.
size_t CountPrefixes(const KeyRange& range, size_t bits) {
  constexpr size_t kTooMany = Question::kMaxPrefixes + 1;
  if (!range.smaller || !range.larger) return kTooMany;
  char first[kMaxPlaceBytes], last[kMaxPlaceBytes];
  const size_t size = PaddedPrefix(*range.smaller, bits, first);
  PaddedPrefix(*range.larger, bits, last);
  const std::string_view from(first, size), to(last, size);
  // The difference of both as numbers. Once it is large it stays so: a
  // difference of 2 or more at least doubles with the next byte.
  int difference = 0;
  for (size_t i = CommonPrefix(from, to); i < size; ++i) {
    difference = 256 * difference + ByteAt(to, i) - ByteAt(from, i);
    if (difference > 256 * static_cast<int>(kTooMany)) return kTooMany;
  }
  const size_t count = (static_cast<size_t>(difference) >> FreeBits(bits)) + 1;
  return count < kTooMany ? count : kTooMany;
}

void AddPrefixes(std::string_view smaller, size_t bits, size_t count,
                 Question* question) {
  char bytes[kMaxPlaceBytes];
  const size_t size = PaddedPrefix(smaller, bits, bytes);
  for (; question->size < count; ++question->size) {
    if (question->size > 0) {
      unsigned carry = 1U << FreeBits(bits);
      for (size_t i = size; i-- > 0 && carry != 0; carry >>= 8) {
        carry += static_cast<unsigned char>(bytes[i]);
        bytes[i] = static_cast<char>(carry & 255);
      }
    }
    question->hashes[question->size] = Hash64(bytes, size);
  }
}

}  // namespace

Question QuestionOf(const KeyRange& range, const Places& places) {
  Question question;
  if (range.empty) return question;
  const size_t common = 8 * range.common.size();
  size_t longest = 0;
  size_t count = 0;
  places.ForEach(range.common, &longest, [&](size_t, size_t bits) {
    // A window may end after the bytes that all keys share.
    const size_t prefixes = bits <= common ? 1 : CountPrefixes(range, bits);
    if (prefixes > Question::kMaxPrefixes) return;
    longest = bits;
    count = prefixes;
  });
  if (count == 0) return question;
  if (longest <= common) {
    question.hashes[question.size++] = HashOfPrefix(range.common, longest);
  } else {
    AddPrefixes(*range.smaller, longest, count, &question);
  }
  return question;
}

}  // namespace deltabloom::internal::range
