#include "engines/rocksdb/policy/unasked_filters.h"

#include <cstdio>

namespace deltabloom::internal {
namespace {

std::string NameOf(const OtherKeys& other) {
  if (other.builtin) return "is not Deltabloom's";
  if (!other.keys.transformed) return "has none";
  const RegisteredTransform* const transform =
      FindKeyTransform(other.keys.transform_id);
  if (transform != nullptr) return "has " + transform->text;
  char id[16];
  std::snprintf(id, sizeof(id), "%08x", other.keys.transform_id);
  return std::string("has one with id ") + id +
         " that is not registered in this process";
}

}  // namespace

void UnaskedFilters::Note(const OtherKeys& other) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!first_.found) first_ = other;
}

std::string UnaskedFilters::Tell(const RegisteredTransform* own) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!first_.found || told_) return {};
  told_ = true;
  return std::string("filters of another key transform than key_transform=") +
         (own == nullptr ? kNoTransform : own->text) +
         " are not asked, every key may match until compaction replaces them; "
         "the first that was found " +
         NameOf(first_);
}

void UnaskedFilters::TellAgain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  told_ = false;
}

}  // namespace deltabloom::internal
