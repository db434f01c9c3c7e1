#include "engines/rocksdb/policy/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "engines/rocksdb/policy/options_file.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/range/cut_text.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

constexpr bool kMayChange = true;
constexpr bool kFixed = false;

// bits_per_key where false_positive_rate is set.
constexpr char kUnset[] = "unset";
constexpr char kUnlimitedText[] = "unlimited";
constexpr char kNoPrefixes[] = "none";

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  // from_chars knows no locale.
  const auto [next, status] = std::from_chars(text.data(), end, *number);
  return status == std::errc() && next == end;
}

std::string ParseBits(std::string_view text, PolicyOptions* options) {
  if (text == kUnset) return {};
  double bits = 0;
  if (!ParseNumber(text, &bits)) return "not a number";
  if (!ValidBitsPerKey(bits)) return "out of range";
  options->bits_per_key = bits;
  options->bits_given = true;
  return {};
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

// Units of bytes; the largest that leaves a whole number is printed.
constexpr std::pair<std::string_view, uint64_t> kByteUnits[] = {
    {"TiB", uint64_t{1} << 40},
    {"GiB", 1 << 30},
    {"MiB", 1 << 20},
    {"KiB", 1 << 10},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"", 1}};

std::string ParseFilterMemory(std::string_view text, PolicyOptions* options) {
  if (text == kUnset) text = "0";
  for (const auto& [unit, size] : kByteUnits) {
    if (text.size() < unit.size() ||
        text.substr(text.size() - unit.size()) != unit) {
      continue;
    }
    double number = 0;
    if (!ParseNumber(Trimmed(text.substr(0, text.size() - unit.size())),
                     &number)) {
      return "not an amount of bytes";
    }
    const double bytes = number * static_cast<double>(size);
    if (!(bytes == 0 || (bytes >= 1 && bytes <= 1e18))) return "out of range";
    options->filter_memory = static_cast<uint64_t>(bytes);
    return {};
  }
  return {};  // not reached: every text ends in nothing
}

std::string PrintFilterMemory(const PolicyOptions& options) {
  const uint64_t bytes = options.filter_memory;
  if (bytes == 0) return kUnset;
  for (const auto& [unit, size] : kByteUnits) {
    if (bytes % size == 0) return std::to_string(bytes / size).append(unit);
  }
  return {};
}

template <auto kMember>
constexpr PolicyOption BitsLimit(const char* name) {
  return {name, kMayChange, "0.5 to 1000",
          [](std::string_view text, PolicyOptions* options) -> std::string {
            double bits = 0;
            if (!ParseNumber(text, &bits)) return "not a number";
            if (!(bits >= kMinBitsPerKey && bits <= 1000)) {
              return "out of range";
            }
            options->*kMember = bits;
            return {};
          },
          [](const PolicyOptions& options) {
            return NumberText(options.*kMember);
          }};
}

std::string ParseRate(std::string_view text, PolicyOptions* options) {
  double rate = 0;
  if (!ParseNumber(text, &rate)) return "not a number";
  if (rate != 0 && !ValidRate(rate)) return "out of range";
  options->false_positive_rate = rate;
  return {};
}

std::string PrintRate(const PolicyOptions& options) {
  char text[32];
  return {text,
          std::to_chars(text, text + sizeof(text), options.false_positive_rate,
                        std::chars_format::general)
              .ptr};
}

std::string ParseLayoutName(std::string_view text, PolicyOptions* options) {
  return ParseLayout(text, &options->layout) ? ""
                                             : "unknown: use " + LayoutNames();
}

std::string PrintLayout(const PolicyOptions& options) {
  const char* const name = LayoutName(options.layout);
  return name == nullptr ? std::to_string(static_cast<int>(options.layout))
                         : name;
}

constexpr const char* kAllocations[] = {"uniform", "levels"};
constexpr const char* kCompatibilities[] = {"builtin", "own"};

// kNames has the names of the enumerators, in order.
template <auto kMember, const auto& kNames>
constexpr PolicyOption Choice(const char* name, bool may_change,
                              const char* legal) {
  return {name, may_change, legal,
          [](std::string_view text, PolicyOptions* options) -> std::string {
            const auto* const found =
                std::find(std::begin(kNames), std::end(kNames), text);
            if (found == std::end(kNames)) return "unknown";
            auto& value = options->*kMember;
            value = static_cast<std::decay_t<decltype(value)>>(found - kNames);
            return {};
          },
          [](const PolicyOptions& options) {
            const auto index = static_cast<size_t>(options.*kMember);
            return index < std::size(kNames) ? kNames[index]
                                             : std::to_string(index);
          }};
}

template <auto kMember>
constexpr PolicyOption Switch(const char* name) {
  return {name, kMayChange, "on or off",
          [](std::string_view text, PolicyOptions* options) -> std::string {
            const bool on = text == "on" || text == "true" || text == "1";
            if (!on && text != "off" && text != "false" && text != "0") {
              return "unknown";
            }
            options->*kMember = on;
            return {};
          },
          [](const PolicyOptions& options) -> std::string {
            return options.*kMember ? "on" : "off";
          }};
}

constexpr char kNoBytes[] = "not a number of bytes";
constexpr char kNoSeconds[] = "not a number of seconds";

template <auto kMember, const auto& kProblem>
constexpr PolicyOption Integer(const char* name, const char* legal) {
  return {name, kMayChange, legal,
          [](std::string_view text, PolicyOptions* options) -> std::string {
            return ParseNumber(text, &(options->*kMember)) ? "" : kProblem;
          },
          [](const PolicyOptions& options) {
            return std::to_string(options.*kMember);
          }};
}

std::string ParseMaxFilterBytes(std::string_view text, PolicyOptions* options) {
  uint64_t bytes = kUnlimited;
  if (text != kUnlimitedText && (!ParseNumber(text, &bytes) || bytes == 0)) {
    return "no number of bytes above 0";
  }
  options->max_filter_bytes = bytes;
  return {};
}

std::string PrintMaxFilterBytes(const PolicyOptions& options) {
  const uint64_t bytes = options.max_filter_bytes;
  return bytes == kUnlimited ? kUnlimitedText : std::to_string(bytes);
}

template <auto kMember>
std::string Print(const PolicyOptions& options) {
  return options.*kMember;
}

std::string ParseTransform(std::string_view text, PolicyOptions* options) {
  options->transform = text == kNoTransform ? nullptr : FindKeyTransform(text);
  options->key_transform =
      options->transform == nullptr ? text : options->transform->text;
  if (!options->TransformIsUnknown()) return {};
  return "not registered in this process: call RegisterKeyTransform before, or "
         "use none, " +
         KeyTransformNames();
}

// Written with commas; what separates options is written by its number.
std::string ParsePrefixes(std::string_view text, PolicyOptions* options) {
  std::vector<range::Cut> cuts;
  if (text != kNoPrefixes && (text.empty() || !range::ParseCuts(text, &cuts))) {
    return std::string("not valid: use none, or ") + range::kCutsSyntax;
  }
  options->range_prefixes.clear();
  for (const range::Cut& cut : cuts) {
    options->range_prefixes +=
        (options->range_prefixes.empty() ? "" : ",") + TextOf(cut);
  }
  if (cuts.empty()) options->range_prefixes = kNoPrefixes;
  options->range_cuts = std::move(cuts);
  return {};
}

// What is wrong with options together; empty if nothing is.
std::string FindConflict(const PolicyOptions& options) {
  const bool by_rate = options.false_positive_rate != 0;
  if (options.range && options.key_transform != kNoTransform) {
    return "range=on and a key_transform are both given, which does not keep "
           "the order of keys: use one of them";
  }
  if (options.range && by_rate) {
    return "range=on and false_positive_rate are both given: use bits_per_key "
           "with ranges, of which each part gets its share";
  }
  if (options.bits_given && by_rate) {
    return "bits_per_key=" + BitsText(options) +
           " and false_positive_rate=" + PrintRate(options) +
           " are both given: use one of them, with bits_per_key=unset or "
           "false_positive_rate=0 where the other is set already";
  }
  const bool levels = options.allocation == RocksDBAllocation::kLevels;
  if (options.filter_memory != 0) {
    const std::string memory = "filter_memory=" + PrintFilterMemory(options);
    if (by_rate || options.bits_given) {
      return memory + " and " +
             (by_rate ? "false_positive_rate=" + PrintRate(options)
                      : "bits_per_key=" + BitsText(options)) +
             " are both given: use one of them, with bits_per_key=unset, "
             "false_positive_rate=0 or filter_memory=0 where the other is set "
             "already";
    }
    if (!levels) return memory + " needs allocation=levels and its listener";
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

const PolicyOption kPolicyOptions[19] = {
    {"bits_per_key", kMayChange,
     "0 to 1000; 10 gives about 1 % false positives, less than 0.5 no filter",
     ParseBits, PrintBits},
    {"layout", kMayChange, nullptr, ParseLayoutName, PrintLayout},
    Choice<&PolicyOptions::allocation, kAllocations>("allocation", kMayChange,
                                                     "uniform or levels"),
    Choice<&PolicyOptions::compatibility, kCompatibilities>(
        "compatibility", kFixed, "builtin or own"),
    Integer<&PolicyOptions::max_build_bytes, kNoBytes>("max_build_bytes",
                                                       "0 for no limit"),
    Switch<&PolicyOptions::payload_check>("payload_check"),
    Switch<&PolicyOptions::seeded>("seeded"),
    {"key_transform", kFixed, nullptr, ParseTransform,
     Print<&PolicyOptions::key_transform>},
    Switch<&PolicyOptions::statistics>("statistics"),
    Integer<&PolicyOptions::statistics_log_seconds, kNoSeconds>(
        "statistics_log_seconds", "0 to 4294967295; 0 writes nothing"),
    {"false_positive_rate", kMayChange,
     "0.000000001 to less than 1, 0.01 takes about 10 bits per key, or 0 to go "
     "by bits_per_key",
     ParseRate, PrintRate},
    {"max_filter_bytes", kMayChange, "unlimited for no limit",
     ParseMaxFilterBytes, PrintMaxFilterBytes},
    Switch<&PolicyOptions::range>("range"),
    Switch<&PolicyOptions::learning>("learning"),
    {"range_prefixes", kMayChange, nullptr, ParsePrefixes,
     Print<&PolicyOptions::range_prefixes>},
    {"filter_memory", kMayChange,
     "an amount as in 2GiB, 500MB or 1048576, or unset to go by bits_per_key",
     ParseFilterMemory, PrintFilterMemory},
    BitsLimit<&PolicyOptions::min_bits_per_key>("min_bits_per_key"),
    BitsLimit<&PolicyOptions::max_bits_per_key>("max_bits_per_key"),
    Switch<&PolicyOptions::weights_by_use>("weights_by_use"),
};

std::string PolicyOption::Parse(std::string_view text,
                                PolicyOptions* options) const {
  std::string wrong = parse(text, options);
  if (wrong.empty()) return {};
  if (legal != nullptr) wrong += std::string(": use ") + legal;
  return std::string(name) + " " + Quote(text) + " is " + wrong;
}

PolicyOptions::PolicyOptions(const RocksDBFilterOptions& options)
    : RocksDBFilterOptions(options) {
  if (key_transform != kNoTransform) {
    transform = FindKeyTransform(key_transform);
    if (transform != nullptr) key_transform = transform->text;
  }
  ParsePrefixes(range_prefixes, this);
}

uint32_t PolicyOptions::MillibitsPerKey() const {
  const uint32_t rounded = ToMillibits(bits_per_key);
  return bits_per_key < kMinBitsPerKey
             ? std::min(rounded, kMinMillibitsPerKey - 1)
             : rounded;
}

const PolicyOption* FindPolicyOption(std::string_view name) {
  for (const PolicyOption& option : kPolicyOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
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
                               PolicyOptions* options) {
  if (in_use) options->bits_given = false;
  for (const PolicyOption& option : kPolicyOptions) {
    const auto found = map.find(option.name);
    if (found == map.end()) continue;
    const std::string before = option.print(*options);
    std::string error = option.Parse(found->second, options);
    if (in_use && !option.may_change &&
        (!error.empty() || option.print(*options) != before)) {
      return std::string(option.name) +
             " is fixed when a policy is made: make another policy";
    }
    if (!error.empty()) return error;
    if (in_use && options->bits_given &&
        option.name == kPolicyOptions[0].name) {
      options->false_positive_rate = 0;
      options->filter_memory = 0;
    }
  }
  return FindConflict(*options);
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
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    rest = Trimmed(rest);
    const size_t equals = item.find('=');
    readable = equals != std::string_view::npos;
    if (!readable) break;
    const std::string name(Trimmed(item.substr(0, equals)));
    const std::string_view value = Trimmed(item.substr(equals + 1));
    (name == "id" ? uri : map[name]) = value;
    if (name == "id" || FindPolicyOption(name) != nullptr) continue;
    std::string error = "option " + Quote(name) + " is unknown: use id";
    for (const PolicyOption& option : kPolicyOptions) {
      error += std::string(", ") + option.name;
    }
    return error;
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

namespace deltabloom {

// Every value goes through its text, so that there is one set of rules.
std::string RocksDBFilterOptions::Validate() const {
  internal::PolicyOptions options;
  static_cast<RocksDBFilterOptions&>(options) = *this;
  internal::PolicyOptions parsed = options;
  for (const internal::PolicyOption& option : internal::kPolicyOptions) {
    std::string error = option.Parse(option.print(options), &parsed);
    if (!error.empty()) return error;
  }
  options.bits_given = bits_per_key != RocksDBFilterOptions().bits_per_key;
  return internal::FindConflict(options);
}

}  // namespace deltabloom
