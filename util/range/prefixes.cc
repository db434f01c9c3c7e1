#include "util/range/prefixes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/range/answer.h"
#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/cut_text.h"
#include "util/range/prefixes_of_range.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {

bool Prefixes::Parse(std::string_view body) {
  const auto take = [&body](uint64_t size, std::string_view* part) {
    if (body.size() < size) return false;
    *part = body.substr(0, size);
    body.remove_prefix(size);
    return true;
  };
  // A text with its size, in two bytes, before it.
  const auto take_text = [&take](std::string_view* text) {
    std::string_view size;
    return take(2, &size) &&
           take(ByteAt(size, 0) | size_t{ByteAt(size, 1)} << 8, text);
  };
  std::string_view part;
  if (!take(1, &part)) return false;
  least_size_ = ByteAt(part, 0);
  if (!take_text(&first_) || !take_text(&last_) || !take(2, &part)) {
    return false;
  }
  if (first_.substr(0, last_.size()) > last_) return false;
  cuts_count_ = ByteAt(part, 0);
  learned_ = ByteAt(part, 1);
  if (cuts_count_ == 0 || cuts_count_ > kMaxCuts || learned_ > cuts_count_ ||
      !take(kCutSize * cuts_count_, &part)) {
    return false;
  }
  for (size_t i = 0; i < cuts_count_; ++i) {
    CutFilter& cut = cuts_[i];
    cut.cut.count = ByteAt(part, kCutSize * i);
    cut.cut.byte = ByteAt(part, kCutSize * i + 1);
    cut.cut.bits = static_cast<uint16_t>(ByteAt(part, kCutSize * i + 2) |
                                         ByteAt(part, kCutSize * i + 3) << 8);
    if (cut.cut.bits > kMaxCutBits ||
        (cut.cut.count == 0 && cut.cut.bits == 0)) {
      return false;
    }
    cut.size = LoadFixed32(part.data() + kCutSize * i + 4);
    std::string_view filter;
    if (!take(cut.size, &filter)) return false;
    cut.usable = false;
    if (filter.size() < 2) continue;
    const auto last_byte = ByteAt(filter, filter.size() - 1);
    const LayoutRow* row = FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2);
    if (row == nullptr || row->hash_size != 8) continue;
    cut.filter.payload = reinterpret_cast<const unsigned char*>(filter.data());
    cut.filter.payload_size = filter.size() - 1;
    cut.usable = row->parse(last_byte, ActiveCpu(), &cut.filter);
  }
  return body.empty();
}

Answer Prefixes::Ask(std::string_view lower,
                     std::optional<std::string_view> upper) const {
  // A bound that is larger than the beginning of the last key is larger than
  // the key, and the first key is not below its beginning.
  if (lower.substr(0, last_.size()) > last_) return Answer::kNo;
  if (!upper.has_value()) return Answer::kMayMatch;
  if (*upper <= first_) return Answer::kNo;
  const RangeView range(lower, *upper);
  Answer answer = Answer::kNoCut;
  for (size_t i = 0; i < cuts_count_; ++i) {
    const CutFilter& cut = cuts_[i];
    if (!cut.usable) continue;
    PrefixesOfRange prefixes(cut.cut, range, least_size_);
    if (!prefixes.known()) continue;
    answer = Answer::kMayMatch;
    while (prefixes.left() > 0 &&
           !cut.filter.may_match(cut.filter, prefixes.prefix())) {
      prefixes.Next();
    }
    if (prefixes.left() == 0) return Answer::kNo;
  }
  return answer;
}

std::vector<Cut> Prefixes::LearnedCuts() const {
  std::vector<Cut> cuts;
  for (size_t i = 0; i < learned_; ++i) cuts.push_back(cuts_[i].cut);
  return cuts;
}

std::string Prefixes::Describe() const {
  std::string text = learned_ > 0 ? "learned prefixes" : "prefixes";
  for (size_t i = 0; i < cuts_count_; ++i) {
    const CutFilter& cut = cuts_[i];
    text += (i == 0 ? ": " : ", ") + TextOf(cut.cut) + " (" +
            std::to_string(cut.size) + " bytes)";
  }
  return text;
}

}  // namespace deltabloom::internal::range
