// A table of text whose columns are as wide as they need.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_TEXT_TABLE_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace deltabloom::bench {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) {
    Add(std::move(header));
  }

  // Rows may differ in length.
  void Add(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
  }

  // The first column to the left, the others to the right, no blanks at the
  // end of a line; ends in a newline.
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_TEXT_TABLE_H_
