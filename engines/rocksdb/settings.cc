#include "engines/rocksdb/settings.h"

#include <algorithm>

#include "engines/rocksdb/settings_fields.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::ConfigOptions;
using ROCKSDB_NAMESPACE::OptionTypeFlags;
using ROCKSDB_NAMESPACE::OptionTypeInfo;
using ROCKSDB_NAMESPACE::OptionVerificationType;
using ROCKSDB_NAMESPACE::Status;

std::atomic<ProblemReporter> problem_reporter{nullptr};

// All options lie at offset 0, the Settings as a whole: parser and printer
// know their field.
OptionTypeInfo Option(const Field& field) {
  const char* const field_name = field.name;
  const auto parse = field.parse;
  const auto print = field.print;
  return OptionTypeInfo(
      0, field.type, OptionVerificationType::kNormal,
      field.may_change ? OptionTypeFlags::kMutable : OptionTypeFlags::kNone,
      [field_name, parse](const ConfigOptions&, const std::string&,
                          const std::string& text, void* object) {
        auto* const settings = static_cast<Settings*>(object);
        const std::string problem = parse(field_name, text, settings);
        if (problem.empty()) return Status::OK();
        const std::string line = Report(problem);
        if (!settings->made && settings->problem.empty()) {
          settings->problem = line;
        }
        return Status::InvalidArgument(line);
      },
      // RocksDB reads an OPTIONS file again before the file takes the place of
      // an older one, and compares. A policy with an error that RocksDB dropped
      // equals no other, and does not even look as it will when it is read.
      [print](const ConfigOptions&, const std::string&, const void* object,
              std::string* text) {
        const auto& settings = *static_cast<const Settings*>(object);
        *text = print(settings);
        if (!settings.problem.empty()) *text += ' ';
        return Status::OK();
      },
      [print](const ConfigOptions&, const std::string& name, const void* left,
              const void* right, std::string* mismatch) {
        const auto& a = *static_cast<const Settings*>(left);
        const auto& b = *static_cast<const Settings*>(right);
        const std::string& problem = a.problem.empty() ? b.problem : a.problem;
        if (problem.empty() && print(a) == print(b)) return true;
        *mismatch = problem.empty() ? name : problem;
        return false;
      });
}

const Field& FieldOfName(std::string_view name) {
  return *std::find_if(
      kFields, kFields + kFieldCount,
      [name](const Field& field) { return field.name == name; });
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
    const std::string problem = FieldOfName(name).parse(name, field, settings);
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
