// The partitions of a filter in a list, for tests.
#ifndef DELTABLOOM_TESTS_SST_PARTITIONS_H_
#define DELTABLOOM_TESTS_SST_PARTITIONS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "table/sst/sst.h"

namespace deltabloom::test {

struct Partition {
  std::string last_key;
  internal::BlockHandle handle;
};

// None when the filter has none.
inline std::vector<Partition> PartitionsOf(const internal::SstSource& source,
                                           const internal::SstFile& file,
                                           const internal::SstFilter& filter) {
  std::vector<Partition> partitions;
  if (filter.scope != internal::FilterScope::kPartitioned) return partitions;
  const std::string error = internal::ForEachPartition(
      source, file, filter,
      [&partitions](std::string_view key, const internal::BlockHandle& handle) {
        partitions.push_back({std::string(key), handle});
        return std::string();
      });
  EXPECT_EQ(error, "");
  EXPECT_EQ(partitions.size(), filter.partitions);
  return partitions;
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_SST_PARTITIONS_H_
