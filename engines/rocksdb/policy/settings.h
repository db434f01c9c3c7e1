// The parameters of a policy, as text and as RocksDB's configurable options.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/key_transforms.h"
#include "rocksdb/utilities/options_type.h"

namespace deltabloom::internal {

// Fits a std::string that allocates nothing, when no longer text can be had.
inline constexpr char kOutOfMemory[] = "out of memory";

// The name of the policy in URIs, OPTIONS files and table properties.
inline constexpr char kPolicyName[] = "deltabloom";

// SetOptions may change the atomics in place while builders are made; each
// value goes with every value of the others.
//
// While a policy is made, `problem` is what was first found wrong in its text.
// From then on, `made`, an error leaves no trace but its Status.
struct Settings {
  static const char* kName() { return "DeltabloomOptions"; }

  std::atomic<uint32_t> millibits_per_key{10000};
  // Not 0: bits go by it, and millibits_per_key stands by.
  std::atomic<double> false_positive_rate{0};
  std::atomic<Layout> layout{Layout::kAuto};
  std::atomic<RocksDBAllocation> allocation{RocksDBAllocation::kUniform};
  std::atomic<uint64_t> max_build_bytes{0};
  std::atomic<uint64_t> max_filter_bytes{kUnlimited};
  std::atomic<bool> payload_check{false};
  std::atomic<bool> seeded{false};
  std::atomic<bool> range{false};
  const RegisteredTransform* key_transform = nullptr;
  // The text of one that is not registered, if that is the problem: no filter
  // may be written or asked then.
  std::string unknown_key_transform;
  std::atomic<bool> statistics{true};
  std::atomic<uint64_t> statistics_log_seconds{600};
  RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin;
  std::string problem;
  // Options of the text that this version does not know, where RocksDB was told
  // to ignore such: "'name', 'name'".
  std::string ignored;
  bool bits_given = false;  // in the text that a policy is made from
  std::atomic<bool> made{false};
};

// Less writes no filter, as in RocksDB.
inline constexpr double kMinBitsPerKey = 0.5;
inline constexpr uint32_t kMinMillibitsPerKey = 500;

// Takes over options that Validate() accepts.
void SetSettings(const RocksDBFilterOptions& options, Settings* settings);

// What is wrong with options that are given together; empty if nothing is.
// RocksDB hands over those that were not named in a call, too, as they are.
std::string ConflictIn(
    const Settings& settings,
    const std::unordered_map<std::string, std::string>& options);

// Sets from "deltabloom", "deltabloom:9.9", "deltabloom:9.9:classic" or
// "deltabloom:9.9:classic:levels". What is not named keeps its default. Empty
// when all went well; else one line that says what is wrong and what is legal.
std::string ParseUri(std::string_view uri, Settings* settings);

// Called with every line that ParseUri or an option's parser has to say, if
// set. For programs that drop the Status and go on without a filter.
using ProblemReporter = void (*)(const std::string& line);
void SetProblemReporter(ProblemReporter reporter);

// "deltabloom: <problem>", reported as above.
std::string Report(const std::string& problem);

// "bits_per_key=9.9 layout=classic allocation=uniform compatibility=builtin
// max_build_bytes=0 payload_check=false seeded=false key_transform=none
// statistics=true statistics_log_seconds=600
// false_positive_rate=0 max_filter_bytes=unlimited range=off"
std::string ToText(const Settings& settings);

// What Configurable::RegisterOptions takes, for an object of type Settings.
const std::unordered_map<std::string, ROCKSDB_NAMESPACE::OptionTypeInfo>&
SettingsTypeInfo();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_SETTINGS_H_
