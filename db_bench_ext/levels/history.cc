#include "db_bench_ext/levels/history.h"

namespace deltabloom::levels {
namespace {

constexpr Growth kAll[] = {Growth::kSettled, Growth::kInsert,
                           Growth::kOverwrite, Growth::kDelete, Growth::kMixed};

}  // namespace

const char* GrowthName(Growth growth) {
  switch (growth) {
    case Growth::kSettled:
      return "settled";
    case Growth::kInsert:
      return "insert";
    case Growth::kOverwrite:
      return "overwrite";
    case Growth::kDelete:
      return "delete";
    case Growth::kMixed:
      return "mixed";
  }
  return "unknown";
}

bool ParseGrowth(const std::string& name, Growth* growth) {
  for (const Growth one : kAll) {
    if (name != GrowthName(one)) continue;
    *growth = one;
    return true;
  }
  return false;
}

History::Kind History::NextKind() {
  if (exists_.empty()) return Kind::kNew;
  const uint64_t drawn = random_.Below(30);
  switch (growth_) {
    case Growth::kOverwrite:
      return written_ < writes_ / 2 ? Kind::kNew : Kind::kOld;
    case Growth::kDelete:
      return drawn < 20 ? Kind::kNew : Kind::kRemove;
    case Growth::kMixed:
      return drawn < 15 ? Kind::kNew : drawn < 24 ? Kind::kOld : Kind::kRemove;
    case Growth::kSettled:
    case Growth::kInsert:
      break;
  }
  return Kind::kNew;
}

History::Write History::Next() {
  const Kind kind = NextKind();
  ++written_;
  if (kind == Kind::kNew) {
    exists_.push_back(true);
    return {exists_.size() - 1, false};
  }
  const uint64_t key = random_.Below(exists_.size());
  exists_[key] = kind == Kind::kOld;
  return {key, kind == Kind::kRemove};
}

std::vector<uint64_t> History::Present() const {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < exists_.size(); ++key) {
    if (exists_[key]) keys.push_back(key);
  }
  return keys;
}

}  // namespace deltabloom::levels
