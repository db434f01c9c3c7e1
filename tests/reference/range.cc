#include <cstddef>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/reference.h"

namespace deltabloom::reference {
namespace {

constexpr size_t kMostDelimiters = 16;
constexpr size_t kMostBits = 8 * 1024;
constexpr size_t kMostWindows = 8;

std::string BitsOf(const std::string& text) {
  std::string bits;
  for (const char byte : text) {
    for (int i = 7; i >= 0; --i) bits += (byte >> i & 1) != 0 ? '1' : '0';
  }
  return bits;
}

// The first bits of a text, which goes on with zeros.
std::string FirstBits(const std::string& text, size_t count) {
  std::string bits = BitsOf(text).substr(0, count);
  return bits + std::string(count - bits.size(), '0');
}

// The next number of as many bits.
std::string Next(std::string bits) {
  for (size_t i = bits.size(); i-- > 0;) {
    if (bits[i] == '0') {
      bits[i] = '1';
      break;
    }
    bits[i] = '0';
  }
  return bits;
}

// A filter has whole bytes, so bits that end in zeros are those that lack them.
std::string WholeBytes(std::string bits) {
  while (bits.size() % 8 != 0) bits += '0';
  return bits;
}

size_t Common(const std::string& a, const std::string& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

RangePlaces::RangePlaces(const std::string& declaration, Ends ends)
    : ends_(std::move(ends)) {
  // A comma in quotes is a delimiter.
  static const std::regex place("('.'|[^,'])+");
  for (auto at =
           std::sregex_iterator(declaration.begin(), declaration.end(), place);
       at != std::sregex_iterator(); ++at) {
    places_.push_back(at->str());
  }
}

std::vector<RangePlaces::End> RangePlaces::EndsIn(
    const std::string& text) const {
  static const std::regex length("([0-9]+)(b?)");
  static const std::regex delimiter(
      "(?:'([^])'|0x(..))(?:x([0-9]+)(?:\\+([0-9]+)(b?))?)?");
  static const std::regex function("(?:([0-9]+)\\+)?([a-zA-Z].*)");
  std::vector<End> ends;
  const auto add = [&](size_t bits, bool window) {
    const bool whole = window || bits <= 8 * text.size();
    if (whole && bits <= kMostBits) ends.push_back({bits, window});
  };
  for (const std::string& place : places_) {
    std::smatch part;
    if (std::regex_match(place, part, length)) {
      const size_t count = std::stoul(part[1]);
      const bool window = part[2] == "b";
      add(window ? count : 8 * count, window);
    } else if (std::regex_match(place, part, delimiter)) {
      const char byte =
          part[1].matched ? part[1].str()[0]
                          : static_cast<char>(std::stoul(part[2], nullptr, 16));
      const bool window = part[5].matched && part[5] == "b";
      size_t count = 0;
      for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != byte || ++count > kMostDelimiters) continue;
        if (!part[3].matched) add(8 * (i + 1), false);
        if (part[3].matched && std::stoul(part[3]) == count) {
          const size_t more = part[4].matched ? std::stoul(part[4]) : 0;
          add(8 * (i + 1) + (window ? more : 8 * more), window);
        }
      }
    } else if (std::regex_match(place, part, function)) {
      const size_t start = part[1].matched ? std::stoul(part[1]) : 0;
      if (start > text.size()) continue;
      for (const size_t end : ends_(part[2], text.substr(start))) {
        add(8 * (start + end), false);
      }
    }
  }
  return ends;
}

std::set<std::string> RangePlaces::PrefixesOf(const std::string& key) const {
  std::set<std::string> prefixes;
  for (const End& end : EndsIn(key)) {
    prefixes.insert(WholeBytes(FirstBits(key, end.bits)));
  }
  return prefixes;
}

std::vector<std::string> RangePlaces::Asked(const std::string& common,
                                            const std::string* smaller,
                                            const std::string* larger) const {
  std::vector<std::string> asked;
  size_t longest = 0;
  for (const End& end : EndsIn(common)) {
    std::vector<std::string> windows;
    if (end.bits <= 8 * common.size()) {
      windows = {FirstBits(common, end.bits)};
    } else if (smaller != nullptr && larger != nullptr) {
      windows = {FirstBits(*smaller, end.bits)};
      const std::string last = FirstBits(*larger, end.bits);
      while (windows.back() != last && windows.size() <= kMostWindows) {
        windows.push_back(Next(windows.back()));
      }
    }
    if (windows.empty() || windows.size() > kMostWindows) continue;
    if (end.bits <= longest) continue;
    longest = end.bits;
    asked = windows;
  }
  for (std::string& prefix : asked) prefix = WholeBytes(prefix);
  return asked;
}

std::vector<std::string> RangePlaces::AskedBy(
    const std::string& lower, const std::optional<std::string>& upper,
    bool reverse) const {
  if (!upper.has_value()) {
    if (reverse) return Asked("", nullptr, &lower);
    return Asked(lower.substr(0, lower.find_first_not_of('\xff')), &lower,
                 nullptr);
  }
  const std::string& smaller = reverse ? *upper : lower;
  const std::string& larger = reverse ? lower : *upper;
  if (smaller >= larger) return {};
  std::string common = lower.substr(0, Common(lower, *upper));
  const size_t size = common.size();
  const auto byte = [](const std::string& text, size_t at) {
    return static_cast<unsigned char>(text[at]);
  };
  if (!reverse && upper->size() == size + 1 && lower.size() > size &&
      byte(*upper, size) == byte(lower, size) + 1) {
    common += lower[size];
    for (size_t i = size + 1; i < lower.size() && byte(lower, i) == 0xff; ++i) {
      common += lower[i];
    }
  }
  return Asked(common, &smaller, &larger);
}

std::vector<std::string> RangePlaces::AskedByPrefix(
    const std::string& prefix) const {
  return Asked(prefix, &prefix, nullptr);
}

}  // namespace deltabloom::reference
