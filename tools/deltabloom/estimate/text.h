// Texts and JSON that the estimates of a future database and of one that is
// there have in common.
#pragma once

#include <string>
#include <vector>

#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

// Prints three significant digits: "123", "4.56", "0.00123".
std::string Short(double value);
// Prints "1.2 GiB".
std::string Bytes(double bytes);
// Prints the number with a comma for each thousand.
std::string Count(double number);

// "12.5 12.5 10.0": if all levels have the same bits, one number; of the tables
// of level 0 their average.
std::string BitsByLevel(const std::vector<TreeLevel>& tree,
                        const FilterEstimate& estimate);

// The filter policy of the last row, as a line.
std::string PolicyLine(const std::vector<FilterEstimate>& estimates);

// Throws the error that filters cannot be made from so few bytes.
[[noreturn]] void RejectTotal(double bytes, double least);

Json ToJson(const std::vector<TreeLevel>& tree);
Json ToJson(const FilterEstimate& estimate);

}  // namespace deltabloom::tools
