#include "engines/rocksdb/policy/settings_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::OptionType;

// bits_per_key where a rate is set instead.
constexpr char kUnset[] = "unset";
constexpr char kUnlimitedText[] = "unlimited";
// Stands for auto with range=on.
constexpr char kRangeLayout[] = "range";

constexpr char kLegalBitsPerKey[] =
    "use 0 to 1000; 10 gives about 1 % false positives, less than 0.5 no "
    "filter";

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  // from_chars knows no locale.
  const auto [next, status] = std::from_chars(text.data(), end, *number);
  return status == std::errc() && next == end;
}

std::string ParseBitsPerKey(std::string_view name, std::string_view text,
                            Settings* settings) {
  if (text == kUnset) return {};
  double bits_per_key = 0;
  if (!ParseNumber(text, &bits_per_key)) {
    return std::string(name) + " " + Quote(text) +
           " is not a number: " + kLegalBitsPerKey;
  }
  if (!ValidBitsPerKey(bits_per_key)) {
    return std::string(name) + " " + Quote(text) +
           " is out of range: " + kLegalBitsPerKey;
  }
  settings->millibits_per_key = Millibits(bits_per_key);
  if (settings->made) {
    settings->false_positive_rate = 0;
  } else {
    settings->bits_given = true;
  }
  return {};
}

std::string ParseRate(std::string_view name, std::string_view text,
                      Settings* settings) {
  double rate = 0;
  if (!ParseNumber(text, &rate)) {
    return std::string(name) + " " + Quote(text) +
           " is not a number: " + kLegalRates;
  }
  if (rate != 0 && !ValidRate(rate)) {
    return std::string(name) + " " + Quote(text) +
           " is out of range: " + kLegalRates;
  }
  const std::string conflict =
      settings->made ? RangeConflictIn(settings->range, false, rate != 0)
                     : std::string();
  if (conflict.empty()) settings->false_positive_rate = rate;
  return conflict;
}

std::string ParseRange(std::string_view name, std::string_view text,
                       Settings* settings) {
  const bool on = text == "on";
  if (!on && text != "off") {
    return std::string(name) + " " + Quote(text) + " is unknown: use on or off";
  }
  // While a policy is made ConflictIn() sees its whole text.
  const std::string conflict =
      settings->made ? RangeConflictIn(on, settings->key_transform != nullptr,
                                       settings->false_positive_rate != 0)
                     : std::string();
  if (conflict.empty()) settings->range = on;
  return conflict;
}

std::string ParseLayoutName(std::string_view name, std::string_view text,
                            Settings* settings) {
  if (text == kRangeLayout) {
    settings->layout = Layout::kAuto;
    return ParseRange("range", "on", settings);
  }
  Layout layout;
  if (!ParseLayout(text, &layout)) {
    return std::string(name) + " " + Quote(text) + " is unknown: use " +
           LayoutNames() + ", or " + kRangeLayout + " for auto with range=on";
  }
  settings->layout = layout;
  return {};
}

std::string ParseAllocation(std::string_view name, std::string_view text,
                            Settings* settings) {
  const bool levels = text == "levels";
  if (!levels && text != "uniform") {
    return std::string(name) + " " + Quote(text) +
           " is unknown: use uniform or levels";
  }
  settings->allocation =
      levels ? RocksDBAllocation::kLevels : RocksDBAllocation::kUniform;
  return {};
}

// A number of bytes, 0 for no limit.
template <std::atomic<uint64_t> Settings::*kMember>
std::string ParseLimit(std::string_view name, std::string_view text,
                       Settings* settings) {
  uint64_t bytes = 0;
  if (!ParseNumber(text, &bytes)) {
    return std::string(name) + " " + Quote(text) +
           " is not a number of bytes: use 0 for no limit";
  }
  settings->*kMember = bytes;
  return {};
}

std::string ParseLogSeconds(std::string_view name, std::string_view text,
                            Settings* settings) {
  uint32_t seconds = 0;
  if (!ParseNumber(text, &seconds)) {
    return std::string(name) + " " + Quote(text) +
           " is not a number of seconds: use 0 to 4294967295; 0 writes nothing";
  }
  settings->statistics_log_seconds = seconds;
  return {};
}

std::string ParseMaxFilterBytes(std::string_view name, std::string_view text,
                                Settings* settings) {
  uint64_t bytes = kUnlimited;
  if (text != kUnlimitedText && (!ParseNumber(text, &bytes) || bytes == 0)) {
    return std::string(name) + " " + Quote(text) +
           " is no number of bytes above 0: use " + kUnlimitedText +
           " for no limit";
  }
  settings->max_filter_bytes = bytes;
  return {};
}

template <std::atomic<bool> Settings::*kMember>
std::string ParseBool(std::string_view name, std::string_view text,
                      Settings* settings) {
  const bool on = text == "true" || text == "1";
  if (!on && text != "false" && text != "0") {
    return std::string(name) + " " + Quote(text) +
           " is unknown: use true or false";
  }
  settings->*kMember = on;
  return {};
}

std::string ParseCompatibility(std::string_view name, std::string_view text,
                               Settings* settings) {
  const bool own = text == "own";
  if (!own && text != "builtin") {
    return std::string(name) + " " + Quote(text) +
           " is unknown: use builtin or own";
  }
  const auto compatibility =
      own ? RocksDBCompatibility::kOwn : RocksDBCompatibility::kBuiltin;
  if (settings->made && settings->compatibility != compatibility) {
    return std::string(name) +
           " is fixed when a policy is made: make another policy";
  }
  settings->compatibility = compatibility;
  return {};
}

std::string ParseKeyTransform(std::string_view name, std::string_view text,
                              Settings* settings) {
  const RegisteredTransform* const transform = KeyTransformOf(text);
  const std::string problem = KeyTransformProblem(text);
  if (settings->made) {
    if (problem.empty() && transform == settings->key_transform) return {};
    return std::string(name) +
           " is fixed when a policy is made: make another policy";
  }
  settings->key_transform = transform;
  settings->unknown_key_transform =
      problem.empty() ? std::string() : std::string(text);
  return problem;
}

std::string KeyTransformText(const Settings& settings) {
  if (!settings.unknown_key_transform.empty()) {
    return settings.unknown_key_transform;
  }
  const RegisteredTransform* const transform = settings.key_transform;
  return transform == nullptr ? kNoTransform : transform->text;
}

std::string BitsPerKeyText(const Settings& settings) {
  if (settings.false_positive_rate != 0) return kUnset;
  const uint32_t millibits = settings.millibits_per_key;
  std::string text = std::to_string(millibits / 1000);
  if (millibits % 1000 != 0) {
    text += "." + std::to_string(1000 + millibits % 1000).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string RateField(const Settings& settings) {
  return RateText(settings.false_positive_rate);
}

std::string MaxFilterBytesText(const Settings& settings) {
  const uint64_t bytes = settings.max_filter_bytes;
  return bytes == kUnlimited ? kUnlimitedText : std::to_string(bytes);
}

std::string LayoutText(const Settings& settings) {
  return LayoutName(settings.layout);
}

std::string AllocationText(const Settings& settings) {
  return settings.allocation == RocksDBAllocation::kLevels ? "levels"
                                                           : "uniform";
}

template <std::atomic<uint64_t> Settings::*kMember>
std::string LimitText(const Settings& settings) {
  return std::to_string(settings.*kMember);
}

template <std::atomic<bool> Settings::*kMember>
std::string BoolText(const Settings& settings) {
  return settings.*kMember ? "true" : "false";
}

std::string RangeText(const Settings& settings) {
  return settings.range ? "on" : "off";
}

std::string CompatibilityText(const Settings& settings) {
  return settings.compatibility == RocksDBCompatibility::kOwn ? "own"
                                                              : "builtin";
}

}  // namespace

const Field kFields[] = {
    {"bits_per_key", OptionType::kDouble, kMayChange, ParseBitsPerKey,
     BitsPerKeyText},
    {"layout", OptionType::kEnum, kMayChange, ParseLayoutName, LayoutText},
    {"allocation", OptionType::kEnum, kMayChange, ParseAllocation,
     AllocationText},
    {"compatibility", OptionType::kEnum, kFixed, ParseCompatibility,
     CompatibilityText},
    {"max_build_bytes", OptionType::kUInt64T, kMayChange,
     ParseLimit<&Settings::max_build_bytes>,
     LimitText<&Settings::max_build_bytes>},
    {"payload_check", OptionType::kBoolean, kMayChange,
     ParseBool<&Settings::payload_check>, BoolText<&Settings::payload_check>},
    {"seeded", OptionType::kBoolean, kMayChange, ParseBool<&Settings::seeded>,
     BoolText<&Settings::seeded>},
    {"key_transform", OptionType::kString, kFixed, ParseKeyTransform,
     KeyTransformText},
    {"statistics", OptionType::kBoolean, kMayChange,
     ParseBool<&Settings::statistics>, BoolText<&Settings::statistics>},
    {"statistics_log_seconds", OptionType::kUInt64T, kMayChange,
     ParseLogSeconds, LimitText<&Settings::statistics_log_seconds>},
    {"false_positive_rate", OptionType::kDouble, kMayChange, ParseRate,
     RateField},
    {"max_filter_bytes", OptionType::kUInt64T, kMayChange, ParseMaxFilterBytes,
     MaxFilterBytesText},
    {"range", OptionType::kEnum, kMayChange, ParseRange, RangeText},
};
const size_t kFieldCount = std::size(kFields);

const Field* FindField(std::string_view name) {
  const Field* const end = kFields + kFieldCount;
  const Field* const found = std::find_if(
      kFields, end, [name](const Field& field) { return field.name == name; });
  return found == end ? nullptr : found;
}

uint32_t Millibits(double bits_per_key) {
  const uint32_t rounded = ToMillibits(bits_per_key);
  return bits_per_key < kMinBitsPerKey
             ? std::min(rounded, kMinMillibitsPerKey - 1)
             : rounded;
}

std::string RangeConflictIn(bool range, bool transformed, bool by_rate) {
  if (!range || (!transformed && !by_rate)) return {};
  if (transformed) {
    return "range=on and a key_transform are both given, which does not keep "
           "the order of keys: use one of them";
  }
  return "range=on and false_positive_rate are both given: use bits_per_key "
         "with ranges, of which each part gets its share";
}

std::string ConflictIn(
    const Settings& settings,
    const std::unordered_map<std::string, std::string>& options) {
  const auto text_of = [&](const char* name, const std::string& unset) {
    const auto found = options.find(name);
    return found == options.end() ? unset : found->second;
  };
  const std::string layout = text_of("layout", "");
  const std::string range =
      text_of("range", layout == kRangeLayout || settings.range ? "on" : "off");
  if (layout == kRangeLayout && range == "off") {
    return "layout=range and range=off are both given: use layout=auto";
  }
  const std::string transform =
      text_of("key_transform", KeyTransformText(settings));
  std::string bits = text_of("bits_per_key", kUnset);
  const bool bits_set = bits != kUnset;
  if (!bits_set && settings.bits_given) bits = BitsPerKeyText(settings);
  const std::string rate = text_of("false_positive_rate", "0");
  double number = 0;
  const bool rate_given = !ParseNumber(rate, &number) || number != 0;
  const bool by_rate =
      rate_given || (settings.made && !bits_set &&
                     options.count("false_positive_rate") == 0 &&
                     settings.false_positive_rate != 0);
  const std::string conflict =
      RangeConflictIn(range == "on", transform != kNoTransform, by_rate);
  if (!conflict.empty()) return conflict;
  if (bits == kUnset || !rate_given) return {};
  return "bits_per_key=" + bits + " and false_positive_rate=" + rate +
         " are both given: use one of them, with bits_per_key=unset or "
         "false_positive_rate=0 where the other is set already";
}

std::string RateText(double rate) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), rate,
                              std::chars_format::general)
                    .ptr};
}

std::string Quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

}  // namespace deltabloom::internal
