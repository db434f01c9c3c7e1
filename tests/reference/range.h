// What a range part says, read slowly and straight from docs/format.md: codes
// as a set, prefixes as strings of '0' and '1'. Only for parts that a writer
// made.
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

 private:
  struct Cut {
    unsigned count, byte, bits;
    std::string filter;
  };

  void ReadNumbers(const std::string& body);
  void ReadPrefixes(const std::string& body);
  bool NumbersMayMatch(const std::string& lower,
                       const std::string& upper) const;
  bool Rejects(const Cut& cut, const std::string& lower,
               const std::string& upper) const;

  char shape_;
  // Numbers.
  std::string least_, most_;
  uint64_t base_ = 0, span_ = 0, universe_ = 0;
  unsigned unit_ = 0;
  std::set<uint64_t> codes_;
  // Prefixes.
  unsigned least_size_ = 0;
  std::string last_;
  std::vector<Cut> cuts_;
};

}  // namespace deltabloom::reference

#endif  // DELTABLOOM_TESTS_REFERENCE_RANGE_H_
