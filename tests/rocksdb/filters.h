// Filters outside a database: from a policy's builder to bytes to its reader.
#ifndef DELTABLOOM_TESTS_ROCKSDB_FILTERS_H_
#define DELTABLOOM_TESTS_ROCKSDB_FILTERS_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {

using internal::NewBitsBuilder;
using internal::NewBitsReader;

inline std::string Build(const FilterPolicy& policy,
                         const std::vector<std::string>& keys) {
  const auto builder = NewBitsBuilder(policy);
  for (const std::string& key : keys) builder->AddKey(key);
  std::unique_ptr<const char[]> owner;
  const std::string filter = builder->Finish(&owner).ToString();
  EXPECT_OK(builder->MaybePostVerify(filter));
  return filter;
}

// The answers to a batch, each of which was `before`.
inline std::vector<bool> MatchBatch(rocksdb::FilterBitsReader* reader,
                                    const std::vector<std::string>& keys,
                                    bool before = false) {
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const size_t n = keys.size();
  const std::unique_ptr<bool[]> answers(new bool[n + 1]);
  std::fill_n(answers.get(), n + 1, before);
  reader->MayMatch(static_cast<int>(n), pointers.data(), answers.get());
  EXPECT_EQ(answers[n], before) << "written past the batch";
  return std::vector<bool>(answers.get(), answers.get() + n);
}

// How many of the keys match.
inline int Matches(rocksdb::FilterBitsReader* reader,
                   const std::vector<std::string>& keys) {
  return static_cast<int>(std::count_if(
      keys.begin(), keys.end(),
      [reader](const auto& key) { return reader->MayMatch(key); }));
}
inline int Matches(const FilterPolicy& policy, const std::string& filter,
                   const std::vector<std::string>& keys) {
  return Matches(NewBitsReader(policy, filter).get(), keys);
}

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_FILTERS_H_
