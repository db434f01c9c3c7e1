#include "db_bench_ext/torture/extensions.h"

#include <rocksdb/utilities/object_registry.h>

#include <algorithm>
#include <optional>
#include <string>

#include "db_bench_ext/torture/keys.h"

namespace deltabloom::torture {

namespace {

using rocksdb::Slice;

constexpr char kFoldingName[] = "deltabloom.torture.folding";

class Folding : public rocksdb::Comparator {
 public:
  const char* Name() const override { return kFoldingName; }
  int Compare(const Slice& a, const Slice& b) const override {
    const size_t n = std::min(a.size(), b.size());
    for (size_t i = 0; i < n; ++i) {
      const int difference = Fold(a[i]) - Fold(b[i]);
      if (difference != 0) return difference < 0 ? -1 : 1;
    }
    return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return true; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static int Fold(char letter) {
    const int byte = static_cast<unsigned char>(letter);
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
  }
};

class Appending : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "deltabloom.torture.appending"; }
  bool Merge(const Slice&, const Slice* existing, const Slice& operand,
             std::string* merged, rocksdb::Logger*) const override {
    std::optional<std::string> before;
    if (existing != nullptr) before = existing->ToString();
    *merged = Merged(before, {operand.data(), operand.size()});
    return true;
  }
};

}  // namespace

const rocksdb::Comparator* FoldingComparator() {
  static const rocksdb::Comparator* const comparator = [] {
    static const Folding folding;
    // A backup opens tables by the name of their comparator.
    rocksdb::ObjectLibrary::Default()->AddFactory<const rocksdb::Comparator>(
        kFoldingName,
        [](const std::string&, std::unique_ptr<const rocksdb::Comparator>*,
           std::string*) { return &folding; });
    return &folding;
  }();
  return comparator;
}

std::shared_ptr<rocksdb::MergeOperator> AppendingMergeOperator() {
  return std::make_shared<Appending>();
}

}  // namespace deltabloom::torture
