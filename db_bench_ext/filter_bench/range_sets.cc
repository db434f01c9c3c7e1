#include "db_bench_ext/filter_bench/range_sets.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

namespace deltabloom::bench {
namespace {

// Of the package wamerican-huge.
constexpr char kWords[] = "/usr/share/dict/american-english-huge";

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

KeyRange RangeFrom(uint64_t first, uint64_t length) {
  const uint64_t last = std::min(first, ~uint64_t{0} - length);
  return {BigEndian(last), BigEndian(last + length)};
}

// All texts that begin with `text`, but for its last `free` bytes, and are not
// in front of it.
KeyRange RangeFrom(const std::string& text, uint64_t free) {
  KeyRange range{
      text,
      text.substr(0, text.size() - std::min<uint64_t>(free, text.size() - 1))};
  if (free == 0) {
    range.upper.push_back('\0');
  } else {
    ++range.upper.back();
  }
  return range;
}

void SortDistinct(std::vector<std::string>* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

RangeSet Numbers(std::string name, const std::vector<uint64_t>& numbers) {
  RangeSet set;
  set.name = std::move(name);
  for (const uint64_t number : numbers) set.keys.push_back(BigEndian(number));
  SortDistinct(&set.keys);
  set.lengths = {1, 16, 64, 256, 1024, 16'384, 131'072, 1'048'576};
  set.prefix_bytes = {5, 6, 7};
  return set;
}

RangeSet Uniform(uint64_t keys, MixedNumbers* random) {
  std::vector<uint64_t> numbers(keys);
  for (uint64_t& number : numbers) number = random->Next();
  RangeSet set = Numbers("uniform", numbers);
  set.draw = [](MixedNumbers* from, uint64_t length) {
    return RangeFrom(from->Next(), length);
  };
  return set;
}

// Ranges that begin 1 to 1,024 behind one of the same keys.
RangeSet Correlated(uint64_t keys, MixedNumbers* random) {
  const auto numbers = std::make_shared<std::vector<uint64_t>>(keys);
  for (uint64_t& number : *numbers) number = random->Next();
  RangeSet set = Numbers("correlated", *numbers);
  set.draw = [numbers](MixedNumbers* from, uint64_t length) {
    const uint64_t key = (*numbers)[from->Below(numbers->size())];
    return RangeFrom(key + 1 + from->Below(1024), length);
  };
  return set;
}

// Series of a thousand keys with gaps of 1,000 to 100,000, as events of a
// thousand sources; ranges within the time of one of them.
RangeSet Clustered(uint64_t keys, MixedNumbers* random) {
  constexpr uint64_t kSeries = 1000;
  std::vector<uint64_t> numbers;
  const auto starts = std::make_shared<std::vector<uint64_t>>();
  for (uint64_t i = 0; i < keys; ++i) {
    if (i % kSeries == 0) {
      numbers.push_back(random->Next());
      starts->push_back(numbers.back());
    } else {
      numbers.push_back(numbers.back() + 1000 + random->Below(99'000));
    }
  }
  RangeSet set = Numbers("clustered", numbers);
  set.draw = [starts](MixedNumbers* from, uint64_t length) {
    const uint64_t start = (*starts)[from->Below(starts->size())];
    return RangeFrom(start + from->Below(kSeries * 50'000), length);
  };
  return set;
}

// Every second of the distinct texts is a key; ranges begin at the others.
RangeSet Texts(std::string name, std::vector<std::string> texts,
               MixedNumbers* random) {
  RangeSet set;
  set.name = std::move(name);
  set.texts = true;
  set.lengths = {0, 1, 2, 4};
  SortDistinct(&texts);
  const auto absent = std::make_shared<std::vector<std::string>>();
  for (std::string& text : texts) {
    (random->Below(2) == 0 ? set.keys : *absent).push_back(std::move(text));
  }
  set.draw = [absent](MixedNumbers* from, uint64_t length) {
    return RangeFrom((*absent)[from->Below(absent->size())], length);
  };
  return set;
}

// Addresses of pages: few sites have many pages, and names are made of
// syllables.
std::vector<std::string> Urls(uint64_t count, MixedNumbers* random) {
  const auto word = [random](uint64_t syllables) {
    std::string text;
    for (; syllables > 0; --syllables) {
      text += "bcdfghklmnprstvw"[random->Below(16)];
      text += "aeiou"[random->Below(5)];
    }
    return text;
  };
  std::vector<std::string> sites, folders;
  for (uint64_t i = 0; i < count / 40 + 1; ++i) {
    sites.push_back("https://www." + word(2 + random->Below(3)) +
                    (random->Below(2) == 0 ? ".org/" : ".com/"));
  }
  for (int i = 0; i < 2000; ++i) folders.push_back(word(1 + random->Below(4)));
  std::vector<std::string> urls;
  for (uint64_t i = 0; i < count; ++i) {
    // The n-th site has a share in proportion to 1 / n, nearly.
    const double share =
        static_cast<double>(random->Next() >> 11) / 9007199254740992.0;
    const auto site = static_cast<size_t>(
        std::pow(static_cast<double>(sites.size()), share) - 1);
    std::string url = sites[site];
    for (uint64_t depth = random->Below(3); depth > 0; --depth) {
      url += folders[random->Below(folders.size())] + "/";
    }
    url += word(2 + random->Below(3));
    if (random->Below(2) == 0) url += "-" + std::to_string(random->Below(5000));
    urls.push_back(url + ".html");
  }
  return urls;
}

std::vector<std::string> Words() {
  std::vector<std::string> words;
  std::ifstream file(kWords);
  for (std::string line; std::getline(file, line);) words.push_back(line);
  return words;
}

}  // namespace

bool RangeSet::Holds(const KeyRange& range) const {
  const auto key = std::lower_bound(keys.begin(), keys.end(), range.lower);
  return key != keys.end() && *key < range.upper;
}

std::vector<RangeSet> MakeRangeSets(uint64_t keys, uint64_t seed) {
  MixedNumbers random(seed);
  std::vector<RangeSet> sets;
  sets.push_back(Uniform(keys, &random));
  sets.push_back(Correlated(keys, &random));
  sets.push_back(Clustered(keys, &random));
  sets.push_back(Texts("urls", Urls(2 * keys, &random), &random));
  sets.back().prefix_bytes = {18, 24, 32};
  std::vector<std::string> words = Words();
  if (!words.empty()) {
    // Evenly, so that few keys are as far from each other as in a real list.
    const size_t step = std::max<size_t>(1, words.size() / (2 * keys));
    std::vector<std::string> some;
    for (size_t i = 0; i < words.size(); i += step) some.push_back(words[i]);
    sets.push_back(Texts("words", std::move(some), &random));
    sets.back().prefix_bytes = {4, 6, 8};
  }
  return sets;
}

}  // namespace deltabloom::bench
