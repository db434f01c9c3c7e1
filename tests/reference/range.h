// What a range part says, read slowly and straight from docs/format.md: codes
// as a set, cells as strings of '0' and '1'. Only for parts that a writer made.
#ifndef DELTABLOOM_TESTS_REFERENCE_RANGE_H_
#define DELTABLOOM_TESTS_REFERENCE_RANGE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace deltabloom::reference {

class Range {
 public:
  explicit Range(const std::string& part);

  bool MayMatch(const std::string& lower, const std::string& upper) const;

  // Sizes of keys and numbers of codes or cells, for tests that count them.
  uint64_t entries() const;

 private:
  struct Block {
    std::string prefix, first;
    std::vector<std::string> cells;
  };

  void ReadNumbers(const std::string& body);
  void ReadTexts(const std::string& body);
  void ReadBlock(const std::string& record, const std::string& parameters);
  unsigned Width() const;
  std::string Bits(const std::string& text, bool upper) const;
  bool NumbersMayMatch(const std::string& lower,
                       const std::string& upper) const;
  bool TextsMayMatch(const std::string& lower, const std::string& upper) const;

  char shape_;
  // Numbers.
  std::string least_, most_;
  uint64_t base_ = 0, span_ = 0, universe_ = 0;
  unsigned unit_ = 0;
  std::set<uint64_t> codes_;
  // Texts.
  std::string prefix_;
  std::set<unsigned> alphabet_;
  std::vector<Block> blocks_;
};

}  // namespace deltabloom::reference

#endif  // DELTABLOOM_TESTS_REFERENCE_RANGE_H_
