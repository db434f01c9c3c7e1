#include "engines/rocksdb/base/options.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options_file.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// bits_per_key where false_positive_rate is set.
constexpr char kUnset[] = "unset";
constexpr char kUnlimitedText[] = "unlimited";

bool ParseBits(std::string_view text, PolicyOptions* options) {
  if (text == kUnset) return true;
  double bits = 0;
  if (!ParseNumber(text, &bits) || !ValidBitsPerKey(bits)) return false;
  options->bits_per_key = bits;
  options->bits_given = true;
  return true;
}

bool AcceptBits(PolicyOptions* options) {
  return options->false_positive_rate != 0 || options->filter_memory != 0 ||
         ValidBitsPerKey(options->bits_per_key);
}

std::string BitsText(const PolicyOptions& options) {
  return NumberText(ValidBitsPerKey(options.bits_per_key)
                        ? options.MillibitsPerKey() / 1000.0
                        : options.bits_per_key);
}

std::string PrintBits(const PolicyOptions& options) {
  return options.false_positive_rate != 0 || options.filter_memory != 0
             ? kUnset
             : BitsText(options);
}

// Units of bytes; the largest that leaves a whole number is printed. Single
// letters are powers of 1024, as in RocksDB's own options.
constexpr std::pair<std::string_view, uint64_t> kByteUnits[] = {
    {"TiB", uint64_t{1} << 40},
    {"TB", 1'000'000'000'000},
    {"GiB", 1 << 30},
    {"GB", 1'000'000'000},
    {"MiB", 1 << 20},
    {"MB", 1'000'000},
    {"KiB", 1 << 10},
    {"kB", 1'000},
    {"T", uint64_t{1} << 40},
    {"G", 1 << 30},
    {"M", 1 << 20},
    {"K", 1 << 10},
    {"k", 1 << 10},
    {"", 1}};

// Reads "2GiB", "2.5 MB" or a number of bytes. Returns false for anything else,
// and for more than `most`.
bool ParseBytes(std::string_view text, uint64_t most, uint64_t* bytes) {
  if (ParseNumber(text, bytes)) return *bytes <= most;
  const auto* const unit = std::find_if(
      std::begin(kByteUnits), std::end(kByteUnits), [text](const auto& one) {
        return text.size() >= one.first.size() &&
               text.substr(text.size() - one.first.size()) == one.first;
      });
  text.remove_suffix(unit->first.size());
  double number = 0;
  if (!ParseNumber(Trimmed(text), &number)) return false;
  const double amount = number * static_cast<double>(unit->second);
  const bool is_legal =
      amount == 0 || (amount >= 1 && amount <= static_cast<double>(most) &&
                      amount < 18446744073709551616.0);  // 2^64
  if (is_legal) *bytes = static_cast<uint64_t>(amount);
  return is_legal;
}

// Eight times this many bits fit into 63 bits.
constexpr uint64_t kMostFilterMemory = 1'000'000'000'000'000'000;

bool AcceptFilterMemory(PolicyOptions* options) {
  return options->filter_memory <= kMostFilterMemory;
}

bool ParseFilterMemory(std::string_view text, PolicyOptions* options) {
  if (text == kUnset) text = "0";
  return ParseBytes(text, kMostFilterMemory, &options->filter_memory);
}

std::string PrintFilterMemory(const PolicyOptions& options) {
  const uint64_t bytes = options.filter_memory;
  if (bytes == 0) return kUnset;
  const auto* const unit = std::find_if(
      std::begin(kByteUnits), std::end(kByteUnits),
      [bytes](const auto& one) { return bytes % one.second == 0; });
  return std::to_string(bytes / unit->second).append(unit->first);
}

bool ParseLayoutName(std::string_view text, PolicyOptions* options) {
  return ParseLayout(text, &options->layout);
}

bool AcceptLayout(PolicyOptions* options) {
  return LayoutName(options->layout) != nullptr;
}

std::string PrintLayout(const PolicyOptions& options) {
  const char* const name = LayoutName(options.layout);
  return name == nullptr ? std::to_string(static_cast<int>(options.layout))
                         : name;
}

bool ValidRateOrNone(double rate) { return rate == 0 || ValidRate(rate); }
bool ValidLimit(double bits) {
  return bits >= kMinBitsPerKey && bits <= kMaxBitsPerKey;
}

std::string RealText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number,
                              std::chars_format::general)
                    .ptr};
}

template <auto kMember, bool (*kValid)(double)>
constexpr PolicyOption Real(const char* name, const char* legal) {
  return {
      name, legal,
      [](std::string_view text, PolicyOptions* options) {
        double number = 0;
        if (!ParseNumber(text, &number) || !kValid(number)) return false;
        options->*kMember = number;
        return true;
      },
      [](PolicyOptions* options) { return kValid(options->*kMember); },
      [](const PolicyOptions& options) { return RealText(options.*kMember); }};
}

template <auto kMember>
constexpr PolicyOption Integer(const char* name, const char* legal) {
  return {name, legal,
          [](std::string_view text, PolicyOptions* options) {
            return ParseNumber(text, &(options->*kMember));
          },
          [](PolicyOptions*) { return true; },
          [](const PolicyOptions& options) {
            return std::to_string(options.*kMember);
          }};
}

// The names of two values, in order, and then their other spellings.
constexpr const char* kAllocations[] = {"uniform", "levels"};
constexpr const char* kCompatibilities[] = {"builtin", "own"};
constexpr const char* kSwitch[] = {"off", "on", "false", "true", "0", "1"};

template <auto kMember, const auto& kNames>
constexpr PolicyOption Choice(const char* name, const char* legal,
                              bool may_change = true) {
  return {name,
          legal,
          [](std::string_view text, PolicyOptions* options) {
            const auto* const found =
                std::find(std::begin(kNames), std::end(kNames), text);
            if (found == std::end(kNames)) return false;
            auto& value = options->*kMember;
            value = static_cast<std::decay_t<decltype(value)>>(
                (found - kNames) % 2);
            return true;
          },
          [](PolicyOptions* options) {
            return static_cast<size_t>(options->*kMember) < 2;
          },
          [](const PolicyOptions& options) {
            const auto index = static_cast<size_t>(options.*kMember);
            return index < 2 ? kNames[index] : std::to_string(index);
          },
          nullptr,
          may_change};
}

template <auto kMember>
constexpr PolicyOption Switch(const char* name) {
  return Choice<kMember, kSwitch>(name, "on or off");
}

bool ParseMaxFilterBytes(std::string_view text, PolicyOptions* options) {
  uint64_t bytes = kUnlimited;
  if (text != kUnlimitedText &&
      (!ParseBytes(text, kUnlimited, &bytes) || bytes == 0)) {
    return false;
  }
  options->max_filter_bytes = bytes;
  return true;
}

bool AcceptMaxFilterBytes(PolicyOptions* options) {
  return options->max_filter_bytes != 0;
}

std::string PrintMaxFilterBytes(const PolicyOptions& options) {
  const uint64_t bytes = options.max_filter_bytes;
  return bytes == kUnlimited ? kUnlimitedText : std::to_string(bytes);
}

template <auto kMember>
std::string Print(const PolicyOptions& options) {
  return options.*kMember;
}

bool ParseTransform(std::string_view text, PolicyOptions* options) {
  options->transform = text == kNoTransform ? nullptr : FindKeyTransform(text);
  options->key_transform =
      options->transform == nullptr ? text : options->transform->text;
  return !options->TransformIsUnknown();
}

bool AcceptTransform(PolicyOptions* options) {
  return ParseTransform(std::string(options->key_transform), options);
}

// Returns what is wrong with the combination of options; empty if nothing is.
std::string FindConflict(const PolicyOptions& options) {
  const bool by_rate = options.false_positive_rate != 0;
  const std::string memory = "filter_memory=" + PrintFilterMemory(options);
  std::vector<std::string> sizes;
  if (options.filter_memory != 0) sizes.push_back(memory);
  if (options.bits_given) sizes.push_back("bits_per_key=" + BitsText(options));
  if (by_rate) {
    sizes.push_back("false_positive_rate=" +
                    RealText(options.false_positive_rate));
  }
  if (sizes.size() > 1) {
    return sizes[0] + " and " + sizes[1] +
           " are both given: use one of them, with bits_per_key=unset, "
           "false_positive_rate=0 or filter_memory=0 where the other is set "
           "already";
  }
  const bool levels = options.allocation == RocksDBAllocation::kLevels;
  if (options.filter_memory != 0 && !levels) {
    return memory + " needs allocation=levels and its listener";
  }
  if (options.min_bits_per_key > options.max_bits_per_key) {
    return "min_bits_per_key is above max_bits_per_key";
  }
  if (levels && options.weights_by_use && !options.statistics) {
    return "statistics=off and weights_by_use=on are both given with "
           "allocation=levels, which weights levels by the lookups that the "
           "statistics count: use one of statistics=on and weights_by_use=off";
  }
  return {};
}

}  // namespace

const PolicyOption kPolicyOptions[16] = {
    {"bits_per_key",
     "0 to 1000; 10 gives about 1 % false positives, less than 0.5 no filter",
     ParseBits, AcceptBits, PrintBits},
    {"layout", "", ParseLayoutName, AcceptLayout, PrintLayout, LayoutNames},
    Choice<&PolicyOptions::allocation, kAllocations>("allocation",
                                                     "uniform or levels"),
    Choice<&PolicyOptions::compatibility, kCompatibilities>(
        "compatibility", "builtin or own", /*may_change=*/false),
    {"max_build_bytes",
     "an amount as in 16M, 16MiB or 16777216, or 0 for no limit",
     [](std::string_view text, PolicyOptions* options) {
       return ParseBytes(text, kUnlimited, &options->max_build_bytes);
     },
     [](PolicyOptions*) { return true; },
     [](const PolicyOptions& options) {
       return std::to_string(options.max_build_bytes);
     }},
    Switch<&PolicyOptions::payload_check>("payload_check"),
    Switch<&PolicyOptions::seeded>("seeded"),
    {"key_transform",
     "none, or what RegisterKeyTransform registered in this process: ",
     ParseTransform, AcceptTransform, Print<&PolicyOptions::key_transform>,
     KeyTransformNames,
     /*may_change=*/false},
    Switch<&PolicyOptions::statistics>("statistics"),
    Integer<&PolicyOptions::statistics_log_seconds>(
        "statistics_log_seconds", "0 to 4294967295; 0 writes nothing"),
    Real<&PolicyOptions::false_positive_rate, ValidRateOrNone>(
        "false_positive_rate",
        "0.000000001 to less than 1, 0.01 takes about 10 bits per key, or 0 to "
        "go by bits_per_key"),
    {"max_filter_bytes",
     "an amount above 0 as in 1M, 1MiB or 1048576, or unlimited for no limit",
     ParseMaxFilterBytes, AcceptMaxFilterBytes, PrintMaxFilterBytes},
    {"filter_memory",
     "an amount as in 2GiB, 500MB or 1048576, or unset to go by bits_per_key; "
     "at most 1e18",
     ParseFilterMemory, AcceptFilterMemory, PrintFilterMemory},
    Real<&PolicyOptions::min_bits_per_key, ValidLimit>("min_bits_per_key",
                                                       "0.5 to 1000"),
    Real<&PolicyOptions::max_bits_per_key, ValidLimit>("max_bits_per_key",
                                                       "0.5 to 1000"),
    Switch<&PolicyOptions::weights_by_use>("weights_by_use"),
};

std::string PolicyOption::Parse(std::string_view text,
                                PolicyOptions* options) const {
  return parse(text, options) ? std::string() : Refuse(text);
}

std::string PolicyOption::Accept(PolicyOptions* options) const {
  return accept(options) ? std::string() : Refuse(print(*options));
}

std::string PolicyOption::Refuse(std::string_view text) const {
  return std::string(name) + " " + Quote(text) + " is not valid: use " + legal +
         (names == nullptr ? "" : names());
}

std::string PolicyOptions::Set(const RocksDBFilterOptions& options) {
  *this = PolicyOptions();
  static_cast<RocksDBFilterOptions&>(*this) = options;
  bits_given = bits_per_key != RocksDBFilterOptions().bits_per_key;
  for (const PolicyOption& option : kPolicyOptions) {
    std::string error = option.Accept(this);
    if (!error.empty()) return error;
  }
  return FindConflict(*this);
}

uint32_t PolicyOptions::MillibitsPerKey() const {
  const uint32_t rounded = ToMillibits(bits_per_key);
  return bits_per_key < kMinBitsPerKey
             ? std::min(rounded, kMinMillibitsPerKey - 1)
             : rounded;
}

std::string ParsePolicyUri(std::string_view uri, PolicyOptions* options) {
  std::string_view rest = uri.substr(std::string_view(kPolicyName).size());
  for (size_t i = 0; i < 3 && !rest.empty(); ++i) {
    rest.remove_prefix(1);  // the colon
    const std::string_view text = rest.substr(0, rest.find(':'));
    const PolicyOption& option = kPolicyOptions[i];
    std::string error = option.Parse(text, options);
    if (!error.empty()) return error;
    rest.remove_prefix(text.size());
  }
  if (rest.empty()) return {};
  return "cannot read " + Quote(rest) +
         ": use deltabloom:BITS_PER_KEY:LAYOUT:ALLOCATION, and name other "
         "options, as in id=deltabloom;bits_per_key=10;compatibility=own";
}

std::string ApplyPolicyOptions(const OptionMap& map, bool in_use,
                               PolicyOptions* options, std::string* ignored) {
  if (in_use) options->bits_given = false;
  std::string first;
  std::string names = "id";
  std::set<std::string> unknown;
  for (const auto& [name, text] : map) unknown.insert(name);
  unknown.erase("id");
  for (const PolicyOption& option : kPolicyOptions) {
    names += std::string(", ") + option.name;
    if (unknown.erase(option.name) == 0) continue;
    const std::string before = option.print(*options);
    std::string error = option.Parse(map.at(option.name), options);
    if (in_use && !option.may_change &&
        (!error.empty() || option.print(*options) != before)) {
      error = std::string(option.name) +
              " is fixed when a policy is made: make another policy";
    }
    if (first.empty()) first = std::move(error);
    if (in_use && options->bits_given &&
        option.name == kPolicyOptions[0].name) {
      options->false_positive_rate = 0;
      options->filter_memory = 0;
    }
  }
  std::string list;
  for (const std::string& name : unknown) {
    list += (list.empty() ? "" : ", ") + Quote(name);
  }
  if (ignored != nullptr) {
    *ignored = list;
  } else if (!list.empty() && first.empty()) {
    first = "option " + list + " is unknown: use " + names;
  }
  return first.empty() ? FindConflict(*options) : first;
}

std::string ParsePolicyOptions(std::string_view text, PolicyOptions* options) {
  std::string_view rest = Trimmed(text);
  if (rest.size() >= 2 && rest.front() == '{' && rest.back() == '}') {
    rest = Trimmed(rest.substr(1, rest.size() - 2));
  }
  OptionMap map;
  std::string uri = kPolicyName;
  if (rest.find('=') == std::string_view::npos) {
    if (!rest.empty()) uri = rest;
    rest = {};
  }
  bool readable = true;
  while (!rest.empty() && readable) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest = Trimmed(rest.substr(std::min(item.size() + 1, rest.size())));
    const size_t equals = item.find('=');
    readable = equals != std::string_view::npos;
    if (!readable) break;
    const std::string name(Trimmed(item.substr(0, equals)));
    const std::string_view value = Trimmed(item.substr(equals + 1));
    if (name == "id") {
      uri = value;
    } else if (!map.emplace(name, value).second) {
      return "option " + Quote(name) + " is given twice: use it once";
    }
  }
  const std::string prefix = std::string(kPolicyName) + ":";
  if (!readable ||
      (uri != kPolicyName && uri.compare(0, prefix.size(), prefix) != 0)) {
    return "cannot read " + Quote(text) +
           ": use deltabloom:BITS_PER_KEY:LAYOUT or name options, as in "
           "bits_per_key=10;layout=auto";
  }
  std::string error = ParsePolicyUri(uri, options);
  return error.empty() ? ApplyPolicyOptions(map, /*in_use=*/false, options)
                       : error;
}

std::string PrintPolicyOptions(const PolicyOptions& options) {
  std::string text;
  for (const PolicyOption& option : kPolicyOptions) {
    if (!text.empty()) text += ' ';
    text += std::string(option.name) + '=' + option.print(options);
  }
  return text;
}

}  // namespace deltabloom::internal

std::string deltabloom::RocksDBFilterOptions::Validate() const {
  return internal::PolicyOptions().Set(*this);
}
