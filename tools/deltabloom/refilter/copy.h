// The copy of a table that becomes the new one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {

// A file descriptor, which it closes. Negative if the file was not opened.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int fd;
};

// Throws, with the reason in errno, unless it was done. Where no other table
// could be written, either, *stop is set.
void ExpectWritten(bool done, const std::string& path, const std::string& what,
                   std::atomic<bool>* stop);

// A copy of a table, beside it. Throws std::runtime_error.
class Copy {
 public:
  // Shares the blocks of the table where the file system can do that. It has
  // the owner, the permissions and the extended attributes of the table.
  Copy(const internal::SstSource& source, std::string path,
       std::atomic<bool>* stop);

  // Waits until the copy with the patches is on the disk.
  void Write(const std::vector<internal::SstPatch>& patches);

 private:
  void CopyBytes(const internal::SstSource& source, int from);
  void Expect(bool done) const;

  const std::string path_;
  std::atomic<bool>* const stop_;
  const Descriptor file_;
};

// Calls fn with the bytes of this part of the file, chunk by chunk.
template <typename Fn>
void ForEachChunk(const internal::SstSource& source,
                  const internal::BlockHandle& part, Fn fn) {
  constexpr uint64_t kChunk = 64 << 10;
  std::string bytes;
  for (uint64_t done = 0; done < part.size; done += bytes.size()) {
    const uint64_t at = part.offset + done;
    bytes.resize(std::min(kChunk, part.size - done));
    Check(source.Read(at, bytes.size(), bytes.data()));
    fn(at, &bytes);
  }
}

// Waits until the names in the directory are on the disk. Returns whether they
// are.
bool SyncDirectory(const std::string& directory);

}  // namespace deltabloom::tools
