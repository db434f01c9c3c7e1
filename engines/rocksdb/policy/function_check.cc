#include "engines/rocksdb/policy/function_check.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/status.h"

namespace deltabloom::internal {
namespace {

using rocksdb::FilterBitsBuilder;
using rocksdb::Slice;
using rocksdb::Status;

// The functions of a builder with the names that problems have for them, in the
// order of its virtual table after the two functions of its destructor.
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
#define DELTABLOOM_ADD_KEY_AND_ALT(F) F(kAddKeyAndAlt, "AddKeyAndAlt")
#else
#define DELTABLOOM_ADD_KEY_AND_ALT(F)
#endif
#define DELTABLOOM_BUILDER_FUNCTIONS(F)              \
  F(kAddKey, "AddKey")                               \
  DELTABLOOM_ADD_KEY_AND_ALT(F)                      \
  F(kEstimateEntriesAdded, "EstimateEntriesAdded")   \
  F(kFinish, "Finish")                               \
  F(kFinishWithStatus, "Finish with a status")       \
  F(kMaybePostVerify, "MaybePostVerify")             \
  F(kApproximateNumEntries, "ApproximateNumEntries") \
  F(kCalculateSpace, "CalculateSpace")               \
  F(kEstimatedFpRate, "EstimatedFpRate")

enum Function : size_t {
  kDestructor = 0,
  kDeletingDestructor,
#define DELTABLOOM_PLACE(place, name) place,
  DELTABLOOM_BUILDER_FUNCTIONS(DELTABLOOM_PLACE)
#undef DELTABLOOM_PLACE
      kFunctions,
};

constexpr std::array<const char*, kFunctions> kNames = {
    "the destructor", "the destructor",
#define DELTABLOOM_NAME(place, name) name,
    DELTABLOOM_BUILDER_FUNCTIONS(DELTABLOOM_NAME)
#undef DELTABLOOM_NAME
};

// The two registers in which a Slice is returned; a number is in the first.
struct Returned {
  uintptr_t first;
  uintptr_t second;
};

// The first argument of every cautious call. As a Slice it is a key of one
// byte, as a std::unique_ptr<const char[]>* it owns that byte, as a number it
// is an address, and as a builder it has no field set.
struct FirstArgument {
  std::unique_ptr<const char[]> bytes{new char[1]()};
  size_t size = 1;
  std::array<uint64_t, 126> zeros = {};
};

// The second argument. As a Slice it is the empty key, as a Status* an error
// without a text.
struct SecondArgument {
  Status status = Status::Corruption();
  std::array<uint64_t, 6> zeros = {};
};

// Calls functions of a builder of which it is not known whether they are the
// declared ones, each with arguments that all of them take: the call of another
// function than the one meant does no harm, and its result tells.
// On x86-64 MaybePostVerify takes the builder for where it returns its status,
// and so overwrites the builder's first word. On aarch64 that place is in a
// register that no other function has, so it writes anywhere.
class CautiousCaller {
 public:
  explicit CautiousCaller(FilterBitsBuilder* builder)
      : builder_(builder), table_(Table()) {}

  Returned Call(Function function) {
    using Any =
        Returned (*)(FilterBitsBuilder*, FirstArgument*, SecondArgument*);
    return reinterpret_cast<Any>(table_[function])(builder_, &first_, &second_);
  }

  bool IsIntact() const { return Table() == table_; }
  bool EntriesAre(size_t entries) {
    // It is called twice because a function that adds keys may return this
    // once.
    return Call(kEstimateEntriesAdded).first == entries && IsIntact() &&
           Call(kEstimateEntriesAdded).first == entries;
  }
  // Returns whether `function` returns a filter, puts the filter's memory into
  // the first argument, and leaves the builder empty.
  bool Finishes(Function function) {
    const Returned filter = Call(function);
    return IsIntact() && filter.second <= 1000 &&
           filter.first == reinterpret_cast<uintptr_t>(first_.bytes.get()) &&
           EntriesAre(0);
  }
  bool StatusIsSet() const { return second_.status.ok(); }

 private:
  void* const* Table() const {
    void* const* table = nullptr;
    std::memcpy(&table, static_cast<const void*>(builder_), sizeof(table));
    return table;
  }

  FilterBitsBuilder* const builder_;
  void* const* const table_;
  FirstArgument first_;
  SecondArgument second_;
};

// Returns the first function that is not the declared one, or kFunctions if all
// are. REQUIRES: the builder has the declared functions in any order. Those of
// the last three that take and return numbers are not told apart.
Function FirstWrongFunction(FilterBitsBuilder* builder) {
  CautiousCaller caller(builder);
  if (!caller.EntriesAre(0)) return kEstimateEntriesAdded;
  for (int repeated = 0; repeated < 2; ++repeated) {
    caller.Call(kAddKey);
    if (!caller.IsIntact() || !caller.EntriesAre(1)) return kAddKey;
  }
  if (!caller.Finishes(kFinish) || caller.StatusIsSet()) return kFinish;
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  for (int repeated = 0; repeated < 2; ++repeated) {
    caller.Call(kAddKeyAndAlt);
    if (!caller.IsIntact() || !caller.EntriesAre(2)) return kAddKeyAndAlt;
  }
#else
  caller.Call(kAddKey);
#endif
  if (!caller.Finishes(kFinishWithStatus)) return kFinishWithStatus;
  for (const Function function :
       {kApproximateNumEntries, kCalculateSpace, kEstimatedFpRate}) {
    caller.Call(function);
    if (!caller.IsIntact()) return function;
  }
  // Only MaybePostVerify was not called. The other functions are in their
  // places, so it is in its own.
  return kFunctions;
}

}  // namespace

// A sanitizer checks what lies between constants, too; this reads it.
__attribute__((no_sanitize("address"))) bool HasDeclaredFunctions(
    const FilterBitsBuilder& builder) {
  void* const* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(&builder), sizeof(table));
  for (size_t i = 0; i < kFunctions; ++i) {
    if (table[i] == nullptr) return false;
  }
  // The next table begins with the offset of its class in an object, 0.
  return table[kFunctions] == nullptr;
}

const char* WrongFunction(FilterBitsBuilder* builder) {
  const Function wrong = FirstWrongFunction(builder);
  return wrong == kFunctions ? nullptr : kNames[wrong];
}

}  // namespace deltabloom::internal
