// Shows a database that is there and its estimates, as JSON and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/deltabloom/database/log_statistics.h"
#include "tools/deltabloom/estimate/families.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

Json ToJson(const LogStatistics& statistics);
Json ToJson(const std::optional<Total>& total, const Budget& asked);
Json ToJson(const Family& family);

void ShowStatistics(const LogStatistics& statistics, Console* console);
void ShowTotal(const Total& total, const Budget& asked,
               const std::vector<Family>& families, Console* console);
// `path`: of the database.
void ShowFamily(const std::string& path, const Family& family,
                Console* console);

}  // namespace deltabloom::tools
