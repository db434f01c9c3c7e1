// deltabloom inspect with little memory: a file that needs more does not keep
// it from reading the others.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <ios>
#include <string>

#include "tools/sst/sst.h"
#include "tests/sst/crafted.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using test::BlockHandle;
using test::Entry;
using test::Fixed;
using test::Handle;

class InspectMemory : public test::ToolTest {
 protected:
  InspectMemory() : ToolTest("inspect") {}
};

// Sparse files that claim blocks as large as themselves.
TEST_F(InspectMemory, BlocksLargerThanMemory) {
  constexpr uint64_t kSize = uint64_t{8} << 30;
  const auto write_sparse = [this](const std::string& name,
                                   const std::string& end) {
    Write(File(name), "");
    std::filesystem::resize_file(File(name), kSize);
    std::ofstream(File(name), std::ios::binary | std::ios::app) << end;
    // A young file could still be written, and would be read again.
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(File(name), now - std::chrono::minutes(1));
  };
  // A metaindex of 8 GiB, and a filter of 8 GiB in front of a good metaindex.
  std::string footer = Handle({0, kSize - 5}) + Handle({0, 0});
  footer.resize(40);
  write_sparse("a.sst", footer + Fixed(0xdb4775248b80fb57, 8));
  std::string metaindex =
      test::Block(Entry("filter.p", Handle({0, kSize - 5})));
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
  test::Crafted good;
  const BlockHandle filter = good.Add("filter bytes");
  Write(File("c.sst"), good.FinishWith(Entry("fullfilter.p", Handle(filter))));

  // The program gets 256 MiB of memory.
  const nlohmann::json json =
      RunJson(directory_.path(), 1, "ulimit -v 262144; ");
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
