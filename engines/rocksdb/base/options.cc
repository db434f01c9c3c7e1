#include "engines/rocksdb/base/options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options_file.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/span.h"
#include "util/version.h"

namespace deltabloom::internal {
namespace {

constexpr char kUnset[] = "unset";
constexpr char kUnlimitedText[] = "unlimited";

bool ParseBits(std::string_view text, PolicyOptions* options) {
  // Written by versions with filter_memory and false_positive_rate.
  if (text == kUnset) return true;
  double bits = 0;
  if (!ParseNumber(text, &bits) || !ValidBitsPerKey(bits)) return false;
  options->bits_per_key = bits;
  return true;
}

bool AcceptBits(PolicyOptions* options) {
  return ValidBitsPerKey(options->bits_per_key);
}

std::string BitsText(double bits_per_key, uint32_t millibits) {
  return NumberText(ValidBitsPerKey(bits_per_key) ? millibits / 1000.0
                                                  : bits_per_key);
}

std::string PrintBits(const PolicyOptions& options) {
  return BitsText(options.bits_per_key, options.MillibitsPerKey());
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

bool ParseUpperBits(std::string_view text, PolicyOptions* options) {
  if (text == kUnset) {
    options->upper_bits_per_key.reset();
    return true;
  }
  double bits = 0;
  if (!ParseNumber(text, &bits) || !ValidBitsPerKey(bits)) return false;
  options->upper_bits_per_key = bits;
  return true;
}

bool AcceptUpperBits(PolicyOptions* options) {
  return ValidBitsPerKey(options->upper_bits_per_key.value_or(0));
}

std::string PrintUpperBits(const PolicyOptions& options) {
  return options.upper_bits_per_key.has_value()
             ? BitsText(*options.upper_bits_per_key,
                        options.UpperMillibitsPerKey())
             : kUnset;
}

// Earlier versions had a layout `auto`: compact, but local in level 0.
bool ParseLayoutName(std::string_view text, PolicyOptions* options) {
  return ParseLayout(text == "auto" ? "compact" : text, &options->layout);
}

bool AcceptLayout(PolicyOptions* options) {
  return LayoutName(options->layout) != nullptr;
}

std::string PrintLayout(const PolicyOptions& options) {
  const char* const name = LayoutName(options.layout);
  return name == nullptr ? std::to_string(static_cast<int>(options.layout))
                         : name;
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
  if (options.UpperMillibitsPerKey() >= options.MillibitsPerKey()) return {};
  return "upper_bits_per_key=" + PrintUpperBits(options) +
         " is less than bits_per_key=" + PrintBits(options) +
         ": set both at once, or upper_bits_per_key=unset, with which it "
         "follows bits_per_key";
}

// Options of earlier versions, which OPTIONS files may still hold. Those with a
// replacement decided the size of filters, unless they had a value of `none`.
struct RemovedOption {
  const char* name;
  std::set<std::string_view> none;
  const char* replacement;
};

const std::vector<RemovedOption>& RemovedOptions() {
  static const auto& options = *new std::vector<RemovedOption>{
      {"allocation", {}, nullptr},
      {"filter_memory",
       {kUnset, "0"},
       "deltabloom estimate DIR --filter-memory SIZE prints the bits_per_key "
       "of a total"},
      {"false_positive_rate",
       {"0"},
       "deltabloom estimate DIR --rate RATE prints the bits_per_key of a rate"},
      {"min_bits_per_key", {}, nullptr},
      {"max_bits_per_key", {}, nullptr},
      {"weights_by_use", {}, nullptr},
  };
  return options;
}

// Returns a line about an option of an earlier version; empty: it had no
// effect, or that of today's default.
std::string RemovedLine(const RemovedOption& option, const std::string& text,
                        const PolicyOptions& options) {
  if (option.replacement == nullptr || option.none.count(text) > 0) return {};
  return std::string(option.name) + "=" + text +
         " is ignored, as this version has no such option: tables of the last "
         "level get bits_per_key=" +
         PrintBits(options) + ", others " +
         NumberText(options.UpperMillibitsPerKey() / 1000.0) + "; " +
         option.replacement;
}

constexpr PolicyOption kRowsOfOptions[] = {
    {"bits_per_key",
     "0 to 1000; 10 gives about 0.1 % false positives with layout compact, "
     "less "
     "than 0.5 no filter",
     ParseBits, AcceptBits, PrintBits},
    {"layout", "", ParseLayoutName, AcceptLayout, PrintLayout, LayoutNames},
    {"upper_bits_per_key",
     "bits_per_key to 1000, or unset to follow bits_per_key", ParseUpperBits,
     AcceptUpperBits, PrintUpperBits},
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
    {"max_filter_bytes",
     "an amount above 0 as in 1M, 1MiB or 1048576, or unlimited for no limit",
     ParseMaxFilterBytes, AcceptMaxFilterBytes, PrintMaxFilterBytes},
};

// Binds each member to a name: this does not compile if a member is added.
[[maybe_unused]] constexpr auto MembersOf(const RocksDBFilterOptions& options) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k] = options;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}
static_assert(
    std::tuple_size_v<decltype(MembersOf(RocksDBFilterOptions()))> ==
        std::size(kRowsOfOptions),
    "each option has a row: without one it is not checked, printed or "
    "read from OPTIONS files");

const PolicyOption& FindOption(std::string_view name) {
  return *std::find_if(
      std::begin(kRowsOfOptions), std::end(kRowsOfOptions),
      [name](const PolicyOption& option) { return option.name == name; });
}

}  // namespace

const Span<PolicyOption> kPolicyOptions(kRowsOfOptions);

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
  for (const PolicyOption& option : kPolicyOptions) {
    std::string error = option.Accept(this);
    if (!error.empty()) return error;
  }
  return FindConflict(*this);
}

namespace {

uint32_t RoundedMillibits(double bits_per_key) {
  const uint32_t rounded = ToMillibits(bits_per_key);
  return bits_per_key < kMinBitsPerKey
             ? std::min(rounded, kMinMillibitsPerKey - 1)
             : rounded;
}

}  // namespace

uint32_t PolicyOptions::MillibitsPerKey() const {
  return RoundedMillibits(bits_per_key);
}

uint32_t PolicyOptions::UpperMillibitsPerKey() const {
  const bool adds_step =
      layout == Layout::kCompact && bits_per_key >= kMinBitsPerKey;
  const double unset =
      adds_step ? std::min(bits_per_key + kUpperStepBits, kMaxBitsPerKey)
                : bits_per_key;
  return RoundedMillibits(upper_bits_per_key.value_or(unset));
}

std::string ParsePolicyUri(std::string_view uri, PolicyOptions* options) {
  constexpr std::string_view kAllocations[] = {":uniform", ":levels"};
  std::string_view rest = uri.substr(std::string_view(kPolicyName).size());
  for (const char* name : {"bits_per_key", "layout"}) {
    if (rest.empty()) break;
    rest.remove_prefix(1);  // the colon
    const std::string_view text = rest.substr(0, rest.find(':'));
    std::string error = FindOption(name).Parse(text, options);
    if (!error.empty()) return error;
    rest.remove_prefix(text.size());
  }
  // The allocation of earlier versions.
  if (rest.empty() || rest == kAllocations[0] || rest == kAllocations[1]) {
    return {};
  }
  return "cannot read " + Quote(rest) +
         ": use deltabloom:BITS_PER_KEY:LAYOUT, and name other options, as in "
         "id=deltabloom;bits_per_key=10;compatibility=own";
}

std::string ApplyPolicyOptions(const OptionMap& map, bool in_use,
                               bool ignores_unknown, PolicyOptions* options) {
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
  }
  options->notice.clear();
  const auto add_notice = [options](const std::string& line) {
    if (!options->notice.empty() && !line.empty()) options->notice += "; ";
    options->notice += line;
  };
  if (!in_use) {
    for (const RemovedOption& removed : RemovedOptions()) {
      if (unknown.erase(removed.name) == 0) continue;
      add_notice(RemovedLine(removed, map.at(removed.name), *options));
    }
  }
  std::string list;
  for (const std::string& name : unknown) {
    list += (list.empty() ? "" : ", ") + Quote(name);
  }
  if (!list.empty() && ignores_unknown) {
    add_notice("ignored, as version " + std::string(kVersion) +
               " does not know them: " + list);
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
           "bits_per_key=10;layout=local";
  }
  std::string error = ParsePolicyUri(uri, options);
  return error.empty() ? ApplyPolicyOptions(map, /*in_use=*/false,
                                            /*ignores_unknown=*/false, options)
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
