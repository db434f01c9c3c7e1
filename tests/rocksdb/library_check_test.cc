// Which RocksDB is accepted: its version, and the functions of its builders.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engines/rocksdb/policy/function_check.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/result_check.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::HasDeclaredFunctions;
using internal::WrongFunction;
using internal::WrongResult;
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

// The functions of a builder in the order in which they are declared, and one
// that is not.
enum Function : size_t {
  kAddKey,
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  kAddKeyAndAlt,
#endif
  kEstimateEntriesAdded,
  kFinish,
  kFinishWithStatus,
  kMaybePostVerify,
  kApproximateNumEntries,
  kCalculateSpace,
  kEstimatedFpRate,
  kFunctions,
  kUnknown,
};

// A class of builders with functions in any order, as another RocksDB may have:
// each Add<function, Base> declares one more, which calls RocksDB's own
// builder. As in those, a builder of zeros verifies nothing.
struct OtherBuilder {
  virtual ~OtherBuilder() = default;
  uint64_t zeros[4] = {};
  FilterBitsBuilder* inner = nullptr;
};

template <Function function, typename Base>
struct Add;

#define DELTABLOOM_ADD(function, result, declared, called)  \
  template <typename Base>                                  \
  struct Add<function, Base> : Base {                       \
    virtual result declared { return this->inner->called; } \
  }
using Owner = std::unique_ptr<const char[]>;
DELTABLOOM_ADD(kAddKey, void, Key(const Slice& key), AddKey(key));
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
DELTABLOOM_ADD(kAddKeyAndAlt, void, Both(const Slice& key, const Slice& alt),
               AddKeyAndAlt(key, alt));
#endif
DELTABLOOM_ADD(kEstimateEntriesAdded, size_t, Entries(),
               EstimateEntriesAdded());
DELTABLOOM_ADD(kFinish, Slice, Filter(Owner* owner), Finish(owner));
DELTABLOOM_ADD(kFinishWithStatus, Slice, Checked(Owner* owner, Status* status),
               Finish(owner, status));
DELTABLOOM_ADD(kApproximateNumEntries, size_t, Fitting(size_t bytes),
               ApproximateNumEntries(bytes));
DELTABLOOM_ADD(kCalculateSpace, size_t, Space(size_t entries),
               CalculateSpace(entries));
DELTABLOOM_ADD(kEstimatedFpRate, double, Rate(size_t entries, size_t bytes),
               EstimatedFpRate(entries, bytes));
#undef DELTABLOOM_ADD
template <typename Base>
struct Add<kMaybePostVerify, Base> : Base {
  virtual Status Verify(const Slice& filter) {
    return this->inner == nullptr ? Status::OK()
                                  : this->inner->MaybePostVerify(filter);
  }
};
template <typename Base>
struct Add<kUnknown, Base> : Base {
  virtual void Unknown() {}
};

template <typename Base, Function... order>
struct WithFunctions {
  using Type = Base;
};
template <typename Base, Function first, Function... rest>
struct WithFunctions<Base, first, rest...> {
  using Type = typename WithFunctions<Add<first, Base>, rest...>::Type;
};

// `check` is called with a builder that has these functions.
template <Function... order, typename Check>
void WithOther(const FilterPolicy& policy, const BlockBasedTableOptions& table,
               const Check& check) {
  const auto inner = NewBitsBuilder(policy, table);
  typename WithFunctions<OtherBuilder, order...>::Type other;
  other.inner = inner.get();
  // The check may overwrite the pointer to the table.
  void* first = nullptr;
  std::memcpy(&first, static_cast<void*>(&other), sizeof(first));
  check(reinterpret_cast<FilterBitsBuilder*>(&other));
  std::memcpy(static_cast<void*>(&other), &first, sizeof(first));
}

constexpr Function Exchanged(size_t at, size_t one, size_t other) {
  return static_cast<Function>(at == one ? other : at == other ? one : at);
}

// The declared functions, with two exchanged; with one more before `place`;
// without the one there.
template <size_t one, size_t other, size_t... at, typename Check>
void WithExchanged(std::index_sequence<at...>, const FilterPolicy& policy,
                   const BlockBasedTableOptions& table, const Check& check) {
  WithOther<Exchanged(at, one, other)...>(policy, table, check);
}
template <size_t place, size_t... at, typename Check>
void WithOneMore(std::index_sequence<at...>, const FilterPolicy& policy,
                 const BlockBasedTableOptions& table, const Check& check) {
  WithOther<(at < place    ? static_cast<Function>(at)
             : at == place ? kUnknown
                           : static_cast<Function>(at - 1))...>(policy, table,
                                                                check);
}
template <size_t place, size_t... at, typename Check>
void WithOneLess(std::index_sequence<at...>, const FilterPolicy& policy,
                 const BlockBasedTableOptions& table, const Check& check) {
  WithOther<static_cast<Function>(at < place ? at : at + 1)...>(policy, table,
                                                                check);
}

using Declared = std::make_index_sequence<kFunctions>;
using OneMore = std::make_index_sequence<kFunctions + 1>;
using OneLess = std::make_index_sequence<kFunctions - 1>;

// Calls fn(number) with 0 to count - 1 as types.
template <typename Fn, size_t... number>
void ForEach(std::index_sequence<number...>, const Fn& fn) {
  (fn(std::integral_constant<size_t, number>()), ...);
}

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
    EXPECT_EQ(WrongFunction(builder.get()), nullptr) << kind.name;
    EXPECT_EQ(WrongResult(builder.get(), *kind.policy), nullptr) << kind.name;
  }
  const Kind legacy = Kinds()[2];
  EXPECT_TRUE(
      HasDeclaredFunctions(*NewBitsBuilder(*legacy.policy, legacy.table)));
}

TEST(LibraryCheckTest, AClassOfItsOwnIsAsGood) {
  for (const Kind& kind : Kinds()) {
    WithExchanged<0, 0>(
        Declared(), *kind.policy, kind.table, [&](FilterBitsBuilder* builder) {
          EXPECT_TRUE(HasDeclaredFunctions(*builder));
          EXPECT_EQ(WrongFunction(builder), nullptr) << kind.name;
          EXPECT_EQ(WrongResult(builder, *kind.policy), nullptr) << kind.name;
        });
  }
}

// MaybePostVerify in the place of another function writes its status to a known
// place on x86-64 only. Elsewhere it may crash (docs/compatibility.md).
#if defined(__x86_64__)
constexpr size_t kNotExchanged = kFunctions;
#else
constexpr size_t kNotExchanged = kMaybePostVerify;
#endif

// The check begins with Bloom, and so finds what legacy Bloom does not show.
TEST(LibraryCheckTest, AnyTwoFunctionsExchangedAreFound) {
  const Kind bloom = Kinds()[0];
  ForEach(Declared(), [&](auto one) {
    ForEach(Declared(), [&](auto other) {
      if constexpr (one < other && one != kNotExchanged &&
                    other != kNotExchanged) {
        WithExchanged<one, other>(
            Declared(), *bloom.policy, bloom.table,
            [&](FilterBitsBuilder* builder) {
              const char* wrong = WrongFunction(builder);
              if (wrong == nullptr) wrong = WrongResult(builder, *bloom.policy);
              EXPECT_NE(wrong, nullptr)
                  << one << " and " << other << " exchanged";
            });
      }
    });
  });
}

TEST(LibraryCheckTest, NamesTheFunction) {
  const Kind bloom = Kinds()[0];
  WithExchanged<kCalculateSpace, kEstimatedFpRate>(
      Declared(), *bloom.policy, bloom.table, [&](FilterBitsBuilder* builder) {
        EXPECT_STREQ(WrongResult(builder, *bloom.policy), "CalculateSpace");
      });
  WithExchanged<kAddKey, kEstimatedFpRate>(
      Declared(), *bloom.policy, bloom.table, [&](FilterBitsBuilder* builder) {
        EXPECT_STREQ(WrongFunction(builder), "AddKey");
      });
}

TEST(LibraryCheckTest, OneFunctionMoreOrLessIsFoundWithoutACall) {
  const Kind legacy = Kinds()[2];
  const auto check = [](FilterBitsBuilder* builder) {
    EXPECT_FALSE(HasDeclaredFunctions(*builder));
  };
  ForEach(OneMore(), [&](auto place) {
    WithOneMore<place>(OneMore(), *legacy.policy, legacy.table, check);
  });
  ForEach(Declared(), [&](auto place) {
    WithOneLess<place>(OneLess(), *legacy.policy, legacy.table, check);
  });
}

}  // namespace
}  // namespace deltabloom::testing
