// Runs the program from the outside, on files in a temporary directory.
#pragma once

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/sst/crafted.h"

namespace deltabloom::test {

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

inline void ExpectHasAll(const std::string& text,
                         const std::vector<std::string>& parts) {
  for (const std::string& part : parts) ExpectHas(text, part);
}

// Expects these members, and perhaps others.
inline void ExpectMembers(const nlohmann::json& object,
                          const nlohmann::json& expected) {
  for (const auto& [name, value] : expected.items()) {
    EXPECT_EQ(object.at(name), value) << name;
  }
}

// The keys, or prefixes, that deltabloom verify found denied.
inline std::set<std::string> Missed(const nlohmann::json& file,
                                    const char* kind = "key") {
  std::set<std::string> keys;
  for (const auto& missed : file.at("missed")) {
    if (missed.contains(kind)) keys.insert(missed.at(kind));
  }
  return keys;
}

// A test of a subcommand.
class ToolTest : public ::testing::Test {
 protected:
  explicit ToolTest(std::string command) : command_(std::move(command)) {}

  std::string File(const std::string& name) const {
    return directory_.Path(name);
  }

  // `arguments` and `before`, which stands before the program, are a shell's.
  Result Run(const std::string& arguments,
             const std::string& before = "") const {
    const std::string err = directory_.path() + ".err";
    const std::string line = before + " '" DELTABLOOM_TOOL "' " + command_ +
                             " " + arguments + " 2>" + err;
    Result result;
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> buffer;
    while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      result.out.append(buffer.data(), n);
    }
    const int status = ::pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.err = ReadFile(err);
    std::filesystem::remove(err);
    return result;
  }

  // Its standard error is in err_.
  nlohmann::json RunJson(const std::string& arguments, int status,
                         const std::string& before = "") {
    const Result result = Run("--json " + arguments, before);
    EXPECT_EQ(result.status, status) << result.out << result.err;
    err_ = result.err;
    return nlohmann::json::parse(result.out);
  }

  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  // Flips one bit of a byte of a file that is not young: a young one, which may
  // not be finished, is read again a second later.
  static void FlipBit(const std::string& path, uint64_t at) {
    std::string bytes = ReadFile(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    Write(path, bytes);
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(path, now - std::chrono::minutes(1));
  }

  std::string command_;
  const TempDir directory_;
  std::string err_;
};

// The blocks with filter bytes, in order.
inline std::vector<internal::BlockHandle> FilterBlocksOf(
    const std::string& bytes) {
  const Walked table(bytes);
  std::vector<internal::BlockHandle> blocks;
  for (const internal::SstFilter& filter : table.file.filters) {
    for (const Partition& part : table.Parts(filter)) {
      blocks.push_back(part.handle);
    }
  }
  return blocks;
}

inline std::vector<internal::BlockHandle> FilterBlocks(
    const std::string& path) {
  return FilterBlocksOf(ReadFile(path));
}

// Changes the bytes of a block and then its checksum, and writes the file.
inline void ChangeBlock(const std::string& path,
                        const internal::BlockHandle& handle,
                        const std::function<void(char* block, size_t n)>& fn) {
  std::string bytes = ReadFile(path);
  const internal::SstFile file = Walked(bytes).file;
  fn(&bytes[handle.offset], handle.size);
  const std::string_view checked(&bytes[handle.offset], handle.size + 1);
  internal::StoreFixed32(
      reinterpret_cast<unsigned char*>(&bytes[handle.offset + handle.size + 1]),
      internal::BlockChecksum(file.checksum, checked) +
          internal::ChecksumContext(file.checksum_base, handle.offset));
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(internal::ReadBlock(MemorySource(bytes), file, handle, &bytes), "");
}

// Flips one bit, the first set one from the byte `from` on: one that a key of a
// Bloom filter needs.
inline void ClearABit(const std::string& path,
                      const internal::BlockHandle& handle, size_t from) {
  ChangeBlock(path, handle, [from](char* block, size_t n) {
    for (size_t i = from; i < n; ++i) {
      if (block[i] == 0) continue;
      block[i] = static_cast<char>(block[i] & (block[i] - 1));
      return;
    }
    FAIL() << "no bit is set";
  });
}

}  // namespace deltabloom::test
