// Which RocksDB is accepted: its version, and the functions of its builders.
#include <cstring>
#include <utility>
#include <vector>

#include "engines/rocksdb/policy/function_check.h"
#include "engines/rocksdb/policy/policy.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::HasDeclaredFunctions;
using internal::WrongFunction;
using rocksdb::FilterBitsBuilder;

std::string Version(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

TEST(LibraryCheckTest, AcceptsItsOwnMinorVersionAndNoOther) {
  EXPECT_EQ(internal::VersionProblem(internal::HeadersVersion()), "");
  if (ROCKSDB_MAJOR != 9 || ROCKSDB_MINOR != 6) {
    EXPECT_EQ(internal::VersionProblem(
                  Version(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH + 1)),
              "");
  }
  for (const std::string& loaded :
       {Version(6, 29, 5), Version(7, 0, 2),
        Version(ROCKSDB_MAJOR, ROCKSDB_MINOR + 1, 0),
        ROCKSDB_MINOR > 0
            ? Version(ROCKSDB_MAJOR, ROCKSDB_MINOR - 1, ROCKSDB_PATCH)
            : Version(ROCKSDB_MAJOR - 1, 10, 2),
        Version(ROCKSDB_MAJOR + 1, ROCKSDB_MINOR, ROCKSDB_PATCH),
        Version(ROCKSDB_MAJOR + 1, 0, 0), std::string("12.0.0")}) {
    const std::string problem = internal::VersionProblem(loaded);
    EXPECT_CONTAINS(problem, "built for RocksDB " + internal::HeadersVersion());
    EXPECT_CONTAINS(problem,
                    "loaded is " + loaded + ": build Deltabloom against");
    EXPECT_LACKS(problem, "\n");
  }
}

TEST(LibraryCheckTest, LoadedLibraryFits) {
  EXPECT_EQ(internal::LibraryProblem(), "");
}

// The functions of a builder in the order of its virtual table, after the two
// of the destructor.
const std::vector<std::string> kNames = {
    "AddKey",
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
    "AddKeyAndAlt",
#endif
    "EstimateEntriesAdded",
    "Finish",
    "Finish with a status",
    "MaybePostVerify",
    "ApproximateNumEntries",
    "CalculateSpace",
    "EstimatedFpRate",
};
constexpr size_t kDestructors = 2;
// Words before the first function, which the check ignores.
constexpr size_t kBefore = 2;

void Unknown() {}

// RocksDB's own builder with a virtual table of which the test changes a copy,
// as it is in a library whose class has other functions.
class OtherBuilder {
 public:
  OtherBuilder(const FilterPolicy& policy, const BlockBasedTableOptions& table)
      : builder_(NewBitsBuilder(policy, table)) {
    std::memcpy(&functions_, First(), sizeof(functions_));
    // The class may add functions of its own, which the others call.
    size_t size = kDestructors + kNames.size();
    while (functions_[size] != nullptr) ++size;
    table_.assign(functions_ - kBefore, functions_ + size);
  }
  ~OtherBuilder() { std::memcpy(First(), &functions_, sizeof(functions_)); }

  FilterBitsBuilder* Exchange(size_t one, size_t other) {
    std::swap(*Place(one), *Place(other));
    return Build();
  }
  FilterBitsBuilder* Insert(size_t place) {
    table_.insert(Place(place), reinterpret_cast<void*>(&Unknown));
    return Build();
  }
  FilterBitsBuilder* Remove(size_t place) {
    table_.erase(Place(place));
    return Build();
  }
  FilterBitsBuilder* Build() {
    table_.push_back(nullptr);  // the next table
    const void* const functions = &table_[kBefore];
    std::memcpy(First(), &functions, sizeof(functions));
    return builder_.get();
  }

 private:
  // The word of the builder that points to its table.
  void* First() const { return builder_.get(); }
  std::vector<void*>::iterator Place(size_t function) {
    return table_.begin() +
           static_cast<ptrdiff_t>(kBefore + kDestructors + function);
  }

  const std::unique_ptr<FilterBitsBuilder> builder_;
  void* const* functions_ = nullptr;
  std::vector<void*> table_;
};

struct Kind {
  std::string name;
  PolicyPtr policy;
  BlockBasedTableOptions table;
};

std::vector<Kind> Kinds() {
  BlockBasedTableOptions legacy;
  legacy.format_version = 4;
  return {{"Bloom", PolicyPtr(rocksdb::NewBloomFilterPolicy(10)), {}},
          {"Ribbon", PolicyPtr(rocksdb::NewRibbonFilterPolicy(20, -1)), {}},
          {"legacy", PolicyPtr(rocksdb::NewBloomFilterPolicy(10)), legacy}};
}

TEST(LibraryCheckTest, EveryKindHasTheFunctions) {
  for (const Kind& kind : Kinds()) {
    const auto builder = NewBitsBuilder(*kind.policy, kind.table);
    EXPECT_EQ(WrongFunction(builder.get(), *kind.policy), nullptr) << kind.name;
  }
  const Kind legacy = Kinds()[2];
  EXPECT_TRUE(
      HasDeclaredFunctions(*NewBitsBuilder(*legacy.policy, legacy.table)));
}

TEST(LibraryCheckTest, CopiedTableIsAsGood) {
  for (const Kind& kind : Kinds()) {
    OtherBuilder other(*kind.policy, kind.table);
    EXPECT_EQ(WrongFunction(other.Build(), *kind.policy), nullptr) << kind.name;
  }
}

// The check begins with Bloom, and so finds what the others would not survive.
TEST(LibraryCheckTest, AnyTwoFunctionsExchangedAreFound) {
  const Kind bloom = Kinds()[0];
  for (size_t one = 0; one < kNames.size(); ++one) {
    for (size_t other = one + 1; other < kNames.size(); ++other) {
      OtherBuilder builder(*bloom.policy, bloom.table);
      const char* const wrong =
          WrongFunction(builder.Exchange(one, other), *bloom.policy);
      EXPECT_NE(wrong, nullptr)
          << kNames[one] << " and " << kNames[other] << " exchanged";
    }
  }
}

TEST(LibraryCheckTest, NamesTheFunction) {
  const Kind bloom = Kinds()[0];
  const size_t last = kNames.size() - 1;
  OtherBuilder numbers(*bloom.policy, bloom.table);
  EXPECT_STREQ(WrongFunction(numbers.Exchange(last - 1, last), *bloom.policy),
               "CalculateSpace");
  OtherBuilder keys(*bloom.policy, bloom.table);
  EXPECT_STREQ(WrongFunction(keys.Exchange(0, last), *bloom.policy), "AddKey");
}

TEST(LibraryCheckTest, OneFunctionMoreOrLessIsFoundWithoutACall) {
  const Kind legacy = Kinds()[2];
  for (size_t place = 0; place <= kNames.size(); ++place) {
    OtherBuilder more(*legacy.policy, legacy.table);
    EXPECT_FALSE(HasDeclaredFunctions(*more.Insert(place))) << place;
    if (place == kNames.size()) continue;
    OtherBuilder less(*legacy.policy, legacy.table);
    EXPECT_FALSE(HasDeclaredFunctions(*less.Remove(place))) << place;
  }
}

}  // namespace
}  // namespace deltabloom::testing
