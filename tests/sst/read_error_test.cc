// Reads that fail, at every place of a walk; handles that nobody checked; and
// messages in full.
#include <gtest/gtest.h>

#include <string>

#include "table/sst/block.h"
#include "table/sst/sst.h"
#include "tests/sst/crafted.h"
#include "tests/sst/memory_source.h"

namespace deltabloom {
namespace {

using internal::BlockHandle;
using internal::SstFile;
using test::Block;
using test::Crafted;
using test::Entry;
using test::Fixed;
using test::Handle;
using test::Varint;

// One read of it fails, and leaves what it was to fill as it was.
class FailingSource : public test::MemorySource {
 public:
  FailingSource(std::string bytes, int failing)
      : MemorySource(std::move(bytes)), failing_(failing) {}

  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    if (reads_++ == failing_) return "the disk is gone";
    return MemorySource::Read(offset, n, dst);
  }

 private:
  const int failing_;
  mutable int reads_ = 0;
};

std::string TableOfAllKinds(uint32_t format_version) {
  Crafted table(format_version);
  const BlockHandle partition = table.Add("a partition");
  const BlockHandle partitions =
      table.Add(Block(Entry("key", Handle(partition))));
  const BlockHandle properties =
      table.Add(Block(Entry("rocksdb.num.entries", Varint(3))));
  return table.FinishWith(Entry("partitionedfilter.p", Handle(partitions)) +
                          Entry("rocksdb.properties", Handle(properties)));
}

TEST(ReadErrors, EachEndsTheWalk) {
  for (const uint32_t format_version : {5u, 7u}) {
    const std::string bytes = TableOfAllKinds(format_version);
    // Footer, metaindex, properties, index of partitions, index.
    constexpr int kReads = 5;
    for (int failing = 0; failing < kReads; ++failing) {
      const FailingSource source(bytes, failing);
      SstFile file;
      EXPECT_EQ(internal::WalkSst(source, &file), "the disk is gone")
          << failing;
    }
    const FailingSource source(bytes, kReads);
    SstFile file;
    EXPECT_EQ(internal::WalkSst(source, &file), "");
    std::string contents;
    EXPECT_EQ(ReadBlock(source, file, file.index, &contents),
              "the disk is gone");
  }
}

// Whoever gives a handle of his own to ReadBlock need not have checked it.
TEST(ReadErrors, HandlesOfTheCaller) {
  const test::MemorySource source(TableOfAllKinds(5));
  SstFile file;
  ASSERT_EQ(internal::WalkSst(source, &file), "");
  const uint64_t end = file.footer_offset;
  for (const BlockHandle& handle :
       {BlockHandle{end - 4, 0}, BlockHandle{0, end - 4}, BlockHandle{end, 1},
        BlockHandle{UINT64_MAX, 1}, BlockHandle{0, UINT64_MAX},
        BlockHandle{UINT64_MAX, UINT64_MAX}}) {
    std::string contents;
    EXPECT_EQ(ReadBlock(source, file, handle, &contents),
              "table in memory: offset " + std::to_string(handle.offset) +
                  ": expected a block that ends in front of the footer at " +
                  std::to_string(end) + ", found a handle to " +
                  std::to_string(handle.size) + " bytes at " +
                  std::to_string(handle.offset));
  }
}

TEST(ReadErrors, BlocksInFull) {
  const auto error_of = [](const std::string& block) {
    return internal::ForEachEntry(
        block, true, [](std::string_view, bool, internal::Cursor*) {
          return std::string();
        });
  };
  const struct {
    std::string block;
    const char* error;
  } cases[] = {
      {"", "expected at least 8 bytes, found 0"},
      {std::string(7, '\0'), "expected at least 8 bytes, found 7"},
      {std::string(16, '\0'), "expected 1 to 3 restart points, found 0"},
      {std::string(12, '\0') + Fixed(4, 4),
       "expected 1 to 3 restart points, found 4"},
      {Fixed(1, 4) + Fixed(1, 4), "restart point 0: expected 0, found 1"},
      {std::string("abc") + Fixed(0, 4) + Fixed(4, 4) + Fixed(2, 4),
       "restart point 1: expected 0 to 3, found 4"},
      {std::string("abc") + Fixed(0, 4) + Fixed(2, 4) + Fixed(1, 4) +
           Fixed(3, 4),
       "restart point 2: expected 2 to 3, found 1"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.block), c.error);
  const std::string first = Entry("ab", "v");
  const std::pair<std::string, const char*> entries[] = {
      {"\x80", "expected the sizes of a key, found no valid varint32"},
      {Varint(3) + Varint(0) + Varint(0),
       "expected at most 2 bytes shared with the key before, found 3"},
      {Varint(1) + Varint(9) + Varint(0) + "xyz",
       "expected a key of 9 more bytes, found 3"},
  };
  for (const auto& [entry, error] : entries) {
    EXPECT_EQ(error_of(Block(first + entry)), std::string("entry at byte ") +
                                                  std::to_string(first.size()) +
                                                  ": " + error);
  }
}

}  // namespace
}  // namespace deltabloom
