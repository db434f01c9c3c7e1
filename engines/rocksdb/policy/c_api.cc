// The policy from C.
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/print_once.h"
#include "engines/rocksdb/policy/settings.h"
#include "rocksdb/convenience.h"
#include "util/c_error.h"

namespace {

using deltabloom::internal::CatchForC;
using deltabloom::internal::CopyForC;
using deltabloom::internal::kPolicyName;
using deltabloom::internal::ParseUri;
using deltabloom::internal::Report;
using deltabloom::internal::SealedFilterPolicy;
using deltabloom::internal::SetError;

// Sets *uri and *fields from "deltabloom:10:auto" or
// "id=deltabloom:10;layout=auto", the id with its semicolon being optional.
// False if it is neither.
bool Split(const std::string& text, std::string* uri,
           std::unordered_map<std::string, std::string>* fields) {
  *uri = kPolicyName;
  if (text.find('=') == std::string::npos) {
    if (!text.empty()) *uri = text;
  } else if (ROCKSDB_NAMESPACE::StringToMap(text, fields).ok()) {
    const auto id = fields->find("id");
    if (id != fields->end()) {
      *uri = id->second;
      fields->erase(id);
    }
  } else {
    return false;
  }
  const std::string prefix = std::string(kPolicyName) + ":";
  return *uri == kPolicyName || uri->compare(0, prefix.size(), prefix) == 0;
}

// What is wrong with the text, or nothing; then the policy is set.
std::string Configure(const std::string& text, SealedFilterPolicy* policy) {
  std::string uri;
  std::unordered_map<std::string, std::string> fields;
  if (!Split(text, &uri, &fields)) {
    return Report("cannot read '" + text +
                  "': use deltabloom:BITS_PER_KEY:LAYOUT or name options, as "
                  "in bits_per_key=10;layout=auto");
  }
  const std::string problem = ParseUri(uri, &policy->settings());
  if (!problem.empty()) return Report(problem);
  const ROCKSDB_NAMESPACE::Status status =
      policy->ConfigureFromMap(ROCKSDB_NAMESPACE::ConfigOptions(), fields);
  if (!policy->settings().problem.empty()) return policy->settings().problem;
  return status.ok() ? "" : Report(status.ToString());
}

void Tell(char** errptr, const std::string& problem) {
  if (errptr == nullptr) {
    deltabloom::internal::PrintOnce(problem.c_str());
  } else {
    SetError(errptr, problem);
  }
}

}  // namespace

extern "C" {

// rocksdb_filterpolicy_t is private to RocksDB's db/c.cc: a FilterPolicy and
// three members behind it, that no function looks at but its own virtual ones.
// Whoever receives a pointer to one turns it into a pointer to FilterPolicy,
// its first base, or deletes it through the virtual destructor; so a
// FilterPolicy takes its place. Read in 7.0.3, 7.8.3, 8.11.4, 9.10.0, 10.10.1,
// 11.8.1 and 11.9; tests/c/rocksdb.c runs it.
rocksdb_filterpolicy_t* deltabloom_rocksdb_filterpolicy(const char* options,
                                                        char** errptr) {
  using Policy = rocksdb_filterpolicy_t;
  return CatchForC<Policy*>(errptr, nullptr, [&]() -> Policy* {
    std::string problem;
    if (!deltabloom::RegisterRocksDB(&problem)) {
      Tell(errptr, problem);
      return nullptr;
    }
    auto policy = std::make_unique<SealedFilterPolicy>();
    problem = Configure(options == nullptr ? "" : options, policy.get());
    if (!problem.empty()) {
      Tell(errptr, problem);
      return nullptr;
    }
    ROCKSDB_NAMESPACE::FilterPolicy* const base = policy.release();
    return reinterpret_cast<Policy*>(base);
  });
}

unsigned char deltabloom_rocksdb_register(char** errptr) {
  return CatchForC<unsigned char>(errptr, 0, [&]() -> unsigned char {
    std::string problem;
    if (deltabloom::RegisterRocksDB(&problem)) return 1;
    Tell(errptr, problem);
    return 0;
  });
}

char* deltabloom_rocksdb_statistics(const char* format, char** errptr) {
  return CatchForC<char*>(errptr, nullptr, [&]() -> char* {
    const std::string wanted = format == nullptr ? "" : format;
    const bool json = wanted == "json";
    const bool prometheus = wanted == "prometheus";
    if (!json && !prometheus && wanted != "text") {
      SetError(errptr, "deltabloom: format '" + wanted +
                           "' is unknown: use json, prometheus or text");
      return nullptr;
    }
    const auto statistics = deltabloom::GetRocksDBFilterStatistics();
    char* const text = CopyForC(json         ? statistics.ToJson()
                                : prometheus ? statistics.ToPrometheus()
                                             : statistics.ToText());
    if (text == nullptr) throw std::bad_alloc();
    return text;
  });
}

}  // extern "C"
