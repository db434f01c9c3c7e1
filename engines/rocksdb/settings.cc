#include "engines/rocksdb/settings.h"

#include <algorithm>
#include <charconv>
#include <exception>

#include "util/layout.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::ConfigOptions;
using ROCKSDB_NAMESPACE::OptionType;
using ROCKSDB_NAMESPACE::OptionTypeFlags;
using ROCKSDB_NAMESPACE::OptionTypeInfo;
using ROCKSDB_NAMESPACE::OptionVerificationType;
using ROCKSDB_NAMESPACE::Status;

constexpr char kLegalBitsPerKey[] =
    "use 0 to 1000; 10 gives about 1 % false positives, less than 0.5 no "
    "filter";

// The thousandths that stand for bits_per_key. What is below the least that
// writes a filter stays there.
uint32_t Millibits(double bits_per_key) {
  const uint32_t rounded = ToMillibits(bits_per_key);
  return bits_per_key < kMinBitsPerKey
             ? std::min(rounded, kMinMillibitsPerKey - 1)
             : rounded;
}

std::string Quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// The parsers return what is wrong, or nothing.

std::string ParseBitsPerKey(std::string_view text, Settings* settings) {
  double bits_per_key = 0;
  const char* const end = text.data() + text.size();
  // from_chars knows no locale.
  const auto [next, status] = std::from_chars(text.data(), end, bits_per_key);
  if (status != std::errc() || next != end) {
    return "bits_per_key " + Quote(text) +
           " is not a number: " + kLegalBitsPerKey;
  }
  if (!ValidBitsPerKey(bits_per_key)) {
    return "bits_per_key " + Quote(text) +
           " is out of range: " + kLegalBitsPerKey;
  }
  settings->millibits_per_key = Millibits(bits_per_key);
  return {};
}

std::string ParseLayoutName(std::string_view text, Settings* settings) {
  Layout layout;
  if (!ParseLayout(text, &layout)) {
    return "layout " + Quote(text) + " is unknown: use " + LayoutNames();
  }
  settings->layout = layout;
  return {};
}

std::string ParseMaxBuildBytes(std::string_view text, Settings* settings) {
  uint64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [next, status] = std::from_chars(text.data(), end, bytes);
  if (status != std::errc() || next != end) {
    return "max_build_bytes " + Quote(text) +
           " is not a number of bytes: use 0 for no limit";
  }
  settings->max_build_bytes = bytes;
  return {};
}

std::string ParsePayloadCheck(std::string_view text, Settings* settings) {
  const bool on = text == "true" || text == "1";
  if (!on && text != "false" && text != "0") {
    return "payload_check " + Quote(text) + " is unknown: use true or false";
  }
  settings->payload_check = on;
  return {};
}

std::string ParseCompatibility(std::string_view text, Settings* settings) {
  const bool own = text == "own";
  if (!own && text != "builtin") {
    return "compatibility " + Quote(text) + " is unknown: use builtin or own";
  }
  const auto compatibility =
      own ? RocksDBCompatibility::kOwn : RocksDBCompatibility::kBuiltin;
  if (settings->made && settings->compatibility != compatibility) {
    return "compatibility is fixed when a policy is made: make another policy";
  }
  settings->compatibility = compatibility;
  return {};
}

std::string BitsPerKeyText(const Settings& settings) {
  const uint32_t millibits = settings.millibits_per_key;
  std::string text = std::to_string(millibits / 1000);
  if (millibits % 1000 != 0) {
    text += "." + std::to_string(1000 + millibits % 1000).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string LayoutText(const Settings& settings) {
  return LayoutName(settings.layout);
}

std::string MaxBuildBytesText(const Settings& settings) {
  return std::to_string(settings.max_build_bytes);
}

std::string PayloadCheckText(const Settings& settings) {
  return settings.payload_check ? "true" : "false";
}

std::string CompatibilityText(const Settings& settings) {
  return settings.compatibility == RocksDBCompatibility::kOwn ? "own"
                                                              : "builtin";
}

std::atomic<ProblemReporter> problem_reporter{nullptr};

using Parser = std::string (*)(std::string_view text, Settings* settings);
using Printer = std::string (*)(const Settings& settings);

// What RocksDB calls for an option. Without memory, an option is not set, and a
// policy in the making is refused: RocksDB may drop the Status.

Status ParseOption(Parser parse, const std::string& text, Settings* settings) {
  try {
    const std::string problem = parse(text, settings);
    if (problem.empty()) return Status::OK();
    const std::string line = Report(problem);
    if (!settings->made && settings->problem.empty()) settings->problem = line;
    return Status::InvalidArgument(line);
  } catch (const std::exception&) {
    if (!settings->made && settings->problem.empty()) {
      settings->problem = kOutOfMemory;
    }
    return Status::MemoryLimit();
  }
}

// RocksDB reads an OPTIONS file again before the file takes the place of an
// older one, and compares. A policy with an error that RocksDB dropped equals
// no other, and does not even look as it will when it is read.
Status PrintOption(Printer print, const Settings& settings, std::string* text) {
  try {
    *text = print(settings);
    if (!settings.problem.empty()) *text += ' ';
    return Status::OK();
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
}

bool EqualOption(Printer print, const std::string& name, const Settings& a,
                 const Settings& b, std::string* mismatch) {
  try {
    const std::string& problem = a.problem.empty() ? b.problem : a.problem;
    if (problem.empty() && print(a) == print(b)) return true;
    *mismatch = problem.empty() ? name : problem;
  } catch (const std::exception&) {
    *mismatch = kOutOfMemory;
  }
  return false;
}

// All options lie at offset 0, the Settings as a whole: parser and printer
// know their field.
OptionTypeInfo Option(OptionType type, OptionTypeFlags flags, Parser parse,
                      Printer print) {
  return OptionTypeInfo(
      0, type, OptionVerificationType::kNormal, flags,
      [parse](const ConfigOptions&, const std::string&, const std::string& text,
              void* object) {
        return ParseOption(parse, text, static_cast<Settings*>(object));
      },
      [print](const ConfigOptions&, const std::string&, const void* object,
              std::string* text) {
        return PrintOption(print, *static_cast<const Settings*>(object), text);
      },
      [print](const ConfigOptions&, const std::string& name, const void* left,
              const void* right, std::string* mismatch) {
        return EqualOption(print, name, *static_cast<const Settings*>(left),
                           *static_cast<const Settings*>(right), mismatch);
      });
}

}  // namespace

void SetSettings(const RocksDBFilterOptions& options, Settings* settings) {
  settings->millibits_per_key = Millibits(options.bits_per_key);
  settings->layout = options.layout;
  settings->max_build_bytes = options.max_build_bytes;
  settings->compatibility = options.compatibility;
  settings->payload_check = options.payload_check;
}

std::string ParseUri(std::string_view uri, Settings* settings) {
  constexpr Parser kParsers[] = {ParseBitsPerKey, ParseLayoutName};
  constexpr std::string_view kName = kPolicyName;
  std::string_view rest = uri.substr(kName.size());
  for (const Parser parse : kParsers) {
    if (rest.empty()) return {};
    rest.remove_prefix(1);  // the colon
    const std::string_view field = rest.substr(0, rest.find(':'));
    const std::string problem = parse(field, settings);
    if (!problem.empty()) return problem;
    rest.remove_prefix(field.size());
  }
  if (rest.empty()) return {};
  return "cannot read " + Quote(rest) +
         ": use deltabloom:BITS_PER_KEY:LAYOUT, and name other options, as in "
         "id=deltabloom;bits_per_key=10;compatibility=own";
}

void SetProblemReporter(ProblemReporter reporter) {
  problem_reporter = reporter;
}

std::string Report(const std::string& problem) {
  std::string line = "deltabloom: " + problem;
  const ProblemReporter reporter = problem_reporter;
  if (reporter != nullptr) reporter(line);
  return line;
}

std::string ToText(const Settings& settings) {
  return "bits_per_key=" + BitsPerKeyText(settings) +
         " layout=" + LayoutText(settings) +
         " compatibility=" + CompatibilityText(settings) +
         " max_build_bytes=" + MaxBuildBytesText(settings) +
         " payload_check=" + PayloadCheckText(settings);
}

const std::unordered_map<std::string, OptionTypeInfo>& SettingsTypeInfo() {
  // Never destroyed: policies may outlive static objects.
  static const auto& options =
      *new std::unordered_map<std::string, OptionTypeInfo>{
          {"bits_per_key",
           Option(OptionType::kDouble, OptionTypeFlags::kMutable,
                  ParseBitsPerKey, BitsPerKeyText)},
          {"layout", Option(OptionType::kEnum, OptionTypeFlags::kMutable,
                            ParseLayoutName, LayoutText)},
          {"max_build_bytes",
           Option(OptionType::kUInt64T, OptionTypeFlags::kMutable,
                  ParseMaxBuildBytes, MaxBuildBytesText)},
          {"payload_check",
           Option(OptionType::kBoolean, OptionTypeFlags::kMutable,
                  ParsePayloadCheck, PayloadCheckText)},
          {"compatibility", Option(OptionType::kEnum, OptionTypeFlags::kNone,
                                   ParseCompatibility, CompatibilityText)},
      };
  return options;
}

}  // namespace deltabloom::internal
