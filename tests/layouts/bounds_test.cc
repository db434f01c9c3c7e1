// Parsing and lookups read nothing outside of the filter: whatever its bytes,
// it lies directly before or directly after a page without access. Sanitizers
// see such reads elsewhere; this sees them in every build.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/layouts/subject.h"
#include "tests/random.h"

namespace deltabloom {
namespace {

// Readable bytes between two pages that are not.
class Fenced {
 public:
  explicit Fenced(size_t capacity) {
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_ = (capacity + page_ - 1) / page_ * page_;
    void* memory = mmap(nullptr, size_ + 2 * page_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    begin_ = static_cast<unsigned char*>(memory) + page_;
    if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Fenced() { munmap(begin_ - page_, size_ + 2 * page_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  unsigned char* AtBegin(std::string_view bytes) { return At(begin_, bytes); }
  unsigned char* AtEnd(std::string_view bytes) {
    return At(begin_ + size_ - bytes.size(), bytes);
  }

 private:
  static unsigned char* At(unsigned char* to, std::string_view bytes) {
    std::memcpy(to, bytes.data(), bytes.size());
    return to;
  }

  size_t page_;
  size_t size_;
  unsigned char* begin_;
};

class Bounds : public testing::Test {
 protected:
  // Parses and asks at both ends; keys that are in must be found.
  void Check(const internal::LayoutRow& row, internal::CpuLevel level,
             std::string_view payload, int marker, bool all_in) {
    for (const bool at_end : {false, true}) {
      internal::ParsedFilter parsed{};
      parsed.payload =
          at_end ? payload_.AtEnd(payload) : payload_.AtBegin(payload);
      parsed.payload_size = payload.size();
      if (!row.parse(static_cast<uint8_t>(marker), level, &parsed)) {
        EXPECT_FALSE(all_in);
        continue;
      }
      Ask(row, parsed, all_in);
    }
  }

  void Ask(const internal::LayoutRow& row, const internal::ParsedFilter& parsed,
           bool all_in) {
    std::vector<internal::KeyBytes> refs;
    for (const std::string& key : keys_) {
      refs.push_back({key.data(), key.size()});
      const bool found = parsed.may_match(parsed, key);
      ASSERT_TRUE(found || !all_in);
      ASSERT_EQ(row.may_match_hash(parsed, row.hash(key)), found);
    }
    std::vector<const internal::KeyBytes*> pointers;
    for (const auto& ref : refs) pointers.push_back(&ref);
    const std::unique_ptr<bool[]> answers(new bool[keys_.size()]);
    parsed.may_match_many(parsed, internal::KeyBatch(pointers.data()),
                          keys_.size(), answers.get());
    for (size_t i = 0; i < keys_.size(); ++i) {
      ASSERT_EQ(answers[i], parsed.may_match(parsed, keys_[i]));
    }
  }

  Fenced payload_{1 << 16};
  std::vector<std::string> keys_ = test::Random(20261101).MixedKeys(100);
};

TEST_F(Bounds, WholeFilters) {
  test::Random random(test::SeedOr(20261102));
  for (const internal::LayoutRow* row : test::AllRows()) {
    for (const size_t n : {0u, 1u, 7u, 100u, 1000u, 20000u}) {
      std::vector<std::string> keys = keys_;
      while (keys.size() < n) keys.push_back(random.Key(12));
      const bool all_in = n >= keys_.size();
      if (!all_in) keys.resize(n);
      for (const uint32_t millibits : {1000u, 10000u, 20000u}) {
        for (const internal::CpuLevel level : test::AllLevels()) {
          const auto filter = test::BuildFilter(*row, level, keys, millibits);
          if (!filter || filter->size() > 1 << 16) continue;
          SCOPED_TRACE(std::string(row->name) + ", keys " + std::to_string(n));
          Check(*row, level,
                std::string_view(*filter).substr(0, filter->size() - 1),
                static_cast<unsigned char>(filter->back()), all_in);
        }
      }
    }
  }
}

// The front or the end of a filter is missing, its marker is another one of
// the layout's.
TEST_F(Bounds, PartsOfFilters) {
  test::Random random(test::SeedOr(20261103));
  for (const internal::LayoutRow* row : test::AllRows()) {
    for (const size_t n : {1u, 300u, 2000u}) {
      const auto keys = random.MixedKeys(n);
      for (const internal::CpuLevel level : test::AllLevels()) {
        const auto filter = test::BuildFilter(*row, level, keys, 8000);
        if (!filter) continue;
        const std::string_view all =
            std::string_view(*filter).substr(0, filter->size() - 1);
        for (size_t size = 0; size <= std::min<size_t>(all.size(), 130);
             ++size) {
          const auto span =
              static_cast<uint64_t>(row->last_marker - row->first_marker) + 1;
          const int marker =
              row->first_marker + static_cast<int>(random.Below(span));
          SCOPED_TRACE(std::string(row->name) + ", size " +
                       std::to_string(size));
          Check(*row, level, all.substr(0, size), marker, false);
          Check(*row, level, all.substr(all.size() - size), marker, false);
        }
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom
