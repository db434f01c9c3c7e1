#include "util/range/filter.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/range/bytes.h"
#include "util/range/key_range.h"
#include "util/range/place.h"
#include "util/range/question.h"

namespace deltabloom::internal::range {

void AppendFilterHeader(const FilterHeader& header, size_t filter_size,
                        std::string* dst) {
  assert(header.limits.delimiters > 0 &&
         header.limits.delimiters <= kMaxDelimiters);
  assert(header.limits.bytes > 0 && header.limits.bytes <= kMaxPlaceBytes);
  std::string fields;
  fields.push_back(static_cast<char>(header.order));
  fields.push_back(static_cast<char>(header.limits.delimiters));
  AppendNumber(header.limits.bytes, 2, &fields);
  AppendNumber(header.prefixes, 8, &fields);
  for (const std::string_view text :
       {header.held, header.left_out, header.smallest, header.largest}) {
    assert(text.size() <= 0xffff);
    AppendNumber(text.size(), 2, &fields);
    fields.append(text);
  }
  dst->push_back(kFilterVersion);
  AppendNumber(1 + 8 + fields.size() + filter_size, 8, dst);
  dst->append(fields);
}

Filter::Filter(std::string_view bytes) { known_ = Parse(bytes); }

bool Filter::Parse(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.Number<1>() != kFilterVersion ||
      reader.Number<8>() != bytes.size()) {
    return false;
  }
  const uint64_t order = reader.Number<1>();
  header_.order = static_cast<Order>(order);
  header_.limits.delimiters = static_cast<size_t>(reader.Number<1>());
  header_.limits.bytes = static_cast<size_t>(reader.Number<2>());
  header_.prefixes = reader.Number<8>();
  header_.held = reader.Text<2>();
  header_.left_out = reader.Text<2>();
  header_.smallest = reader.Text<2>();
  header_.largest = reader.Text<2>();
  const auto within = [](size_t number, size_t most) {
    return number > 0 && number <= most;
  };
  if (!reader.ok() || order > static_cast<uint64_t>(Order::kReverse) ||
      !within(header_.limits.delimiters, kMaxDelimiters) ||
      !within(header_.limits.bytes, kMaxPlaceBytes) ||
      header_.smallest.substr(0, header_.largest.size()) > header_.largest) {
    return false;
  }
  const std::string_view filter = reader.rest();
  size_ = filter.size();
  if (filter.empty()) return true;
  const unsigned char last_byte = ByteAt(filter, filter.size() - 1);
  row_ = FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2);
  // Prefixes are looked up by their 64-bit hash, which classic does not have.
  if (filter.size() < 2 || row_ == nullptr || row_->hash_size != 8)
    return false;
  filter_.payload = reinterpret_cast<const unsigned char*>(filter.data());
  filter_.payload_size = filter.size() - 1;
  return row_->parse(last_byte, ActiveCpu(), &filter_);
}

bool Filter::IsOutside(const KeyRange& range) const {
  // The stored bytes of the smallest key are not larger than the key. Those of
  // the largest key may be smaller than the key, which begins with them.
  const std::string_view smallest = header_.smallest;
  const std::string_view largest = header_.largest;
  if (range.smaller && range.smaller->substr(0, largest.size()) > largest) {
    return true;
  }
  if (!range.larger) {
    return smallest.substr(0, range.common.size()) > range.common;
  }
  return range.order == Order::kBytewise ? *range.larger <= smallest
                                         : *range.larger < smallest;
}

bool Filter::HasKeyFromFront(const KeyRange& range) const {
  if (range.order == Order::kBytewise) {
    return range.smaller && *range.smaller <= header_.largest;
  }
  // The smallest key goes on with unknown bytes after those that are stored.
  const std::string_view front = range.larger ? *range.larger : range.common;
  return front.substr(0, header_.smallest.size()) > header_.smallest;
}

bool Filter::MayHold(const Question& question) const {
  if (question.size == 0) return true;
  if (row_ == nullptr) return false;
  return std::any_of(
      question.hashes.begin(),
      question.hashes.begin() + static_cast<ptrdiff_t>(question.size),
      [this](uint64_t hash) { return row_->may_match_hash(filter_, hash); });
}

std::string Filter::Describe() const {
  if (!known_) return "damaged or of another version";
  std::string text = "prefixes=" + Utf8Of(header_.held);
  if (!header_.left_out.empty()) {
    text += ", left out " + Utf8Of(header_.left_out);
  }
  if (header_.order == Order::kReverse) text += ", reverse order";
  text += ", " + std::to_string(header_.prefixes) + " of them";
  if (row_ == nullptr) return text;
  if (header_.prefixes > 0) {
    text += " at " +
            NumberText(8 * static_cast<double>(size_) /
                           static_cast<double>(header_.prefixes),
                       2) +
            " bits";
  }
  return text + ": " + row_->describe(filter_);
}

}  // namespace deltabloom::internal::range
