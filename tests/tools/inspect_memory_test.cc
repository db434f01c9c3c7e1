// deltabloom inspect with little memory: a file that needs more does not keep
// it from reading the others.
#include "tests/sst/crafted.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using test::Block;
using test::BlockHandle;
using test::Crafted;
using test::Entry;
using test::Fixed;
using test::Handle;
using test::Varint;

class InspectMemory : public test::ToolTest {
 protected:
  InspectMemory() : ToolTest("inspect") {}

  // Inspects the whole directory with 256 MiB of memory.
  nlohmann::json RunAll(int status) {
    return RunJson(directory_.string(), status, "ulimit -v 262144; ");
  }
};

// A table with one good filter.
std::string GoodTable() {
  Crafted table;
  const BlockHandle filter = table.Add("filter bytes");
  return table.FinishWith(Entry("fullfilter.p", Handle(filter)));
}

// Thousands of names of many letters each, in a small file.
std::string SharedNames(const std::string& prefix, const std::string& value) {
  std::string entries = Entry(prefix + std::string(60000, 'n'), value);
  for (size_t i = 0; i < 8000; ++i) {
    entries += Varint(60000) + Varint(1) + Varint(value.size()) + "n" + value;
  }
  return entries;
}

TEST_F(InspectMemory, SmallFilesOfManyLongNames) {
  Crafted names;
  Write(File("a.sst"),
        names.FinishWith(SharedNames("fullfilter.", Handle(names.Add("")))));
  Crafted partitions(3);
  partitions.Add(std::string(50000, 'd'));
  const BlockHandle empty = partitions.Add("");
  const BlockHandle index =
      partitions.Add(Block(SharedNames("", Handle(empty))));
  Write(File("b.sst"),
        partitions.FinishWith(Entry("partitionedfilter.p", Handle(index))));
  Crafted properties;
  const BlockHandle block = properties.Add(Block(SharedNames("", Varint(1))));
  Write(File("c.sst"),
        properties.FinishWith(Entry("rocksdb.properties", Handle(block))));
  Write(File("d.sst"), GoodTable());

  const nlohmann::json json = RunAll(2);
  const auto& files = json.at("files");
  ASSERT_EQ(files.size(), 4u);
  EXPECT_NE(files[0].at("error").get<std::string>().find("names of filters"),
            std::string::npos);
  EXPECT_EQ(files[1].at("filters").at(0).at("parts").size(), 8001u);
  EXPECT_EQ(json.at("summary").at("without_filter").at(0), File("c.sst"));
  EXPECT_EQ(json.at("summary").at("unreadable").size(), 1u);
  EXPECT_EQ(json["summary"].at("sound"), 2);
}

// Sparse files that claim blocks as large as themselves.
TEST_F(InspectMemory, BlocksLargerThanMemory) {
  constexpr uint64_t kSize = uint64_t{8} << 30;
  const auto write_sparse = [this](const std::string& name,
                                   const std::string& end) {
    Write(File(name), "");
    std::filesystem::resize_file(File(name), kSize);
    std::ofstream(File(name), std::ios::binary | std::ios::app) << end;
  };
  // A metaindex of 8 GiB, and a filter of 8 GiB in front of a good metaindex.
  std::string footer = Handle({0, kSize - 5}) + Handle({0, 0});
  footer.resize(40);
  write_sparse("a.sst", footer + Fixed(0xdb4775248b80fb57, 8));
  std::string metaindex = Block(Entry("filter.p", Handle({0, kSize - 5})));
  metaindex.push_back('\0');
  const BlockHandle handle{kSize, metaindex.size() - 1};
  const auto checksum = [](const std::string& block) {
    return Fixed(
        internal::BlockChecksum(internal::ChecksumType::kCrc32c, block), 4);
  };
  footer = Handle(handle) + Handle(handle);
  footer.resize(40);
  write_sparse("b.sst", metaindex + checksum(metaindex) + footer +
                            Fixed(0xdb4775248b80fb57, 8));
  Write(File("c.sst"), GoodTable());

  const nlohmann::json json = RunAll(1);
  const auto& files = json.at("files");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].at("error"),
            File("a.sst") + ": no memory for what this file claims to hold");
  const std::string part = File("b.sst") +
                           ": offset 0: no memory for a filter of " +
                           std::to_string(kSize - 5) + " bytes";
  EXPECT_EQ(files[1].at("filters").at(0).at("parts").at(0).at("error"), part);
  EXPECT_EQ(err_, files[0].at("error").get<std::string>() + "\n" + part + "\n");
  EXPECT_EQ(json.at("summary").at("sound"), 1);
}

}  // namespace
}  // namespace deltabloom
