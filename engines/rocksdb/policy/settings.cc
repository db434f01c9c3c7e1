#include "engines/rocksdb/policy/settings.h"

#include <algorithm>
#include <cstdint>
#include <exception>

#include "engines/rocksdb/policy/settings_fields.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::ConfigOptions;
using ROCKSDB_NAMESPACE::OptionTypeFlags;
using ROCKSDB_NAMESPACE::OptionTypeInfo;
using ROCKSDB_NAMESPACE::OptionVerificationType;
using ROCKSDB_NAMESPACE::Status;

std::atomic<ProblemReporter> problem_reporter{nullptr};

// What RocksDB calls for an option. Without memory, an option is not set, and a
// policy in the making is refused: RocksDB may drop the Status.

Status ParseOption(const Field& field, const std::string& text,
                   Settings* settings) {
  try {
    const std::string problem = field.parse(field.name, text, settings);
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

// Spaces at the end of a value, which RocksDB drops where it reads one: those
// of an object differ from those of every other that is alive.
std::string SpacesOf(const Settings& settings) {
  std::string spaces = " ";
  for (uintptr_t rest = reinterpret_cast<uintptr_t>(&settings); rest != 0;
       rest >>= 1) {
    spaces += rest % 2 == 0 ? ' ' : '\t';
  }
  return spaces;
}

// RocksDB reads an OPTIONS file again before the file takes the place of an
// older one, and compares: the policies first, then their texts. A policy with
// an error that RocksDB dropped equals no other, and looks like no other, not
// even like one with the same error that was read from its text.
Status PrintOption(const Field& field, const Settings& settings,
                   std::string* text) {
  try {
    *text = field.print(settings);
    if (!settings.problem.empty()) *text += SpacesOf(settings);
    return Status::OK();
  } catch (const std::exception&) {
    return Status::MemoryLimit();
  }
}

bool EqualOption(const Field& field, const std::string& name, const Settings& a,
                 const Settings& b, std::string* mismatch) {
  try {
    const std::string& problem = a.problem.empty() ? b.problem : a.problem;
    if (problem.empty() && field.print(a) == field.print(b)) return true;
    *mismatch = problem.empty() ? name : problem;
  } catch (const std::exception&) {
    *mismatch = kOutOfMemory;
  }
  return false;
}

// All options lie at offset 0, the Settings as a whole: parser and printer
// know their field. `field` is one of kFields.
OptionTypeInfo Option(const Field& field) {
  const Field* const of = &field;
  return OptionTypeInfo(
      0, field.type, OptionVerificationType::kNormal,
      field.may_change ? OptionTypeFlags::kMutable : OptionTypeFlags::kNone,
      [of](const ConfigOptions&, const std::string&, const std::string& text,
           void* object) {
        return ParseOption(*of, text, static_cast<Settings*>(object));
      },
      [of](const ConfigOptions&, const std::string&, const void* object,
           std::string* text) {
        return PrintOption(*of, *static_cast<const Settings*>(object), text);
      },
      [of](const ConfigOptions&, const std::string& name, const void* left,
           const void* right, std::string* mismatch) {
        return EqualOption(*of, name, *static_cast<const Settings*>(left),
                           *static_cast<const Settings*>(right), mismatch);
      });
}

}  // namespace

void SetSettings(const RocksDBFilterOptions& options, Settings* settings) {
  settings->millibits_per_key = Millibits(options.bits_per_key);
  settings->false_positive_rate = options.false_positive_rate;
  settings->layout = options.layout;
  settings->allocation = options.allocation;
  settings->max_build_bytes = options.max_build_bytes;
  settings->max_filter_bytes = options.max_filter_bytes;
  settings->compatibility = options.compatibility;
  settings->payload_check = options.payload_check;
  settings->seeded = options.seeded;
  settings->range = options.range;
  settings->key_transform = KeyTransformOf(options.key_transform);
  settings->statistics = options.statistics;
  settings->statistics_log_seconds = options.statistics_log_seconds;
}

std::string ParseUri(std::string_view uri, Settings* settings) {
  constexpr std::string_view kName = kPolicyName;
  std::string_view rest = uri.substr(kName.size());
  for (const char* const name : kUriFields) {
    if (rest.empty()) return {};
    rest.remove_prefix(1);  // the colon
    const std::string_view field = rest.substr(0, rest.find(':'));
    const std::string problem = FindField(name)->parse(name, field, settings);
    if (!problem.empty()) return problem;
    rest.remove_prefix(field.size());
  }
  if (rest.empty()) return {};
  return "cannot read " + Quote(rest) + ": use " + kUriForm +
         ", and name other options, as in "
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
  std::string text;
  for (size_t i = 0; i < kFieldCount; ++i) {
    if (i != 0) text += ' ';
    text += std::string(kFields[i].name) + '=' + kFields[i].print(settings);
  }
  return text;
}

const std::unordered_map<std::string, OptionTypeInfo>& SettingsTypeInfo() {
  // Never destroyed: policies may outlive static objects.
  static const auto& options = *[] {
    auto* const infos = new std::unordered_map<std::string, OptionTypeInfo>;
    for (size_t i = 0; i < kFieldCount; ++i) {
      infos->emplace(kFields[i].name, Option(kFields[i]));
    }
    return infos;
  }();
  return options;
}

}  // namespace deltabloom::internal
