// Small tables that expand: a long name, and thousands of entries that share
// it. The memory of a walk must stay in proportion to the file.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tools/sst/sst.h"
#include "tests/folder.h"
#include "tests/sst/crafted.h"
#include "tests/util/replaced_new.h"

namespace deltabloom::test {
namespace {

using namespace internal;

constexpr size_t kNameSize = 60000;
constexpr size_t kEntries = 8000;
// The file in memory itself is one; a copy of every name would be a thousand.
constexpr size_t kTimesTheFile = 10;

// Entries whose names are all `prefix` and many letters, one more each time.
std::string SharedNames(const std::string& prefix, const std::string& value) {
  const std::string first = prefix + std::string(kNameSize, 'n');
  std::string entries = Entry(first, value);
  for (size_t i = 0; i < kEntries; ++i) {
    entries += Varint(first.size() + i) + Varint(1) + Varint(value.size()) +
               "n" + value;
  }
  return entries;
}

// Walks, and expects little memory. Returns the error.
std::string WalkInLittleMemory(const std::string& bytes) {
  const MemorySource source(bytes);
  SstFile file;
  ResetPeak();
  const size_t before = LiveBytes();
  const std::string error = WalkSst(source, &file);
  EXPECT_LT(PeakBytes() - before, kTimesTheFile * bytes.size());
  EXPECT_LT(error.size(), 1000u);
  return error;
}

TEST(BoundedMemory, NamesAndKeys) {
  Crafted table(3);
  table.Add(std::string(5 * kEntries, 'd'));  // room for as many filters
  const BlockHandle empty = table.Add("");
  for (const std::string scope :
       {"filter.", "fullfilter.", "partitionedfilter.", "other"}) {
    SCOPED_TRACE(scope);
    const std::string error = WalkInLittleMemory(
        Crafted(table).FinishWith(SharedNames(scope, Handle(empty))));
    EXPECT_EQ(error.find("expected names of filters of at most ") !=
                  std::string::npos,
              scope != "other")
        << error;
  }
  const BlockHandle index = table.Add(Block(SharedNames("", Handle(empty))));
  const BlockHandle properties = table.Add(Block(SharedNames("", Varint(7))));
  EXPECT_EQ(WalkInLittleMemory(table.FinishWith(
                Entry("partitionedfilter.p", Handle(index)) +
                Entry("rocksdb.properties", Handle(properties)))),
            "");
}

// A file that names the same large block again and again would take long to
// read.
TEST(BoundedMemory, FiltersThatDoNotFitIntoTheFileTogether) {
  const std::string large(200000, 'f');
  const char* expected = "expected filters of at most ";
  Crafted table;
  const BlockHandle filter = table.Add(large);
  const std::string entries =
      Entry("a", Handle(filter)) + Entry("b", Handle(filter));
  const BlockHandle index = table.Add(Block(entries));
  for (const std::string& names :
       {Entry("filter.a", Handle(filter)) + Entry("filter.b", Handle(filter)),
        Entry("partitionedfilter.p", Handle(index))}) {
    ExpectHas(WalkInLittleMemory(Crafted(table).FinishWith(names)), expected);
  }
  EXPECT_EQ(
      WalkInLittleMemory(table.FinishWith(Entry("filter.a", Handle(filter)))),
      "");
}

// 4,000 bytes that claim to yield 25 times as many, where Snappy yields 22
// times at most: nothing of that size may be allocated.
TEST(BoundedMemory, SnappyThatClaimsTooMuch) {
  constexpr size_t kSize = 4000;
  constexpr size_t kClaim = 25 * kSize;
  Crafted table(0, ChecksumType::kCrc32c);
  const BlockHandle empty = table.Add("");
  const BlockHandle handle =
      table.Add(Varint(kClaim) + std::string(kSize, 'x'), 1);
  const MemorySource source(table.Finish(handle, empty));
  SstFile file;
  ResetPeak();
  const std::string error = WalkSst(source, &file);
  EXPECT_LT(LargestBlock(), kClaim);
  ExpectHas(error, "Snappy cannot decompress");
}

}  // namespace
}  // namespace deltabloom::test
