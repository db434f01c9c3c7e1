#include "tools/deltabloom/database/log_statistics.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// Follows the time in the first line; a line for each ticker comes after it,
// and then those of the histograms.
constexpr std::string_view kDumpStart = "] STATISTICS:\n";
constexpr std::string_view kCount = " COUNT : ";
constexpr std::string_view kHistogram = " P50 : ";

// Takes "rocksdb.block.cache.miss COUNT : 3724" into the tickers. Returns
// whether it was such a line.
bool TakeTicker(std::string_view line, Tickers* tickers) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  const size_t at = line.find(kCount);
  if (at == line.npos || line.find(kHistogram) != line.npos) return false;
  const std::string_view number = line.substr(at + kCount.size());
  uint64_t value = 0;
  const char* const end = number.data() + number.size();
  const auto [next, status] = std::from_chars(number.data(), end, value);
  if (status != std::errc() || next != end) return false;
  tickers->insert_or_assign(std::string(line.substr(0, at)), value);
  return true;
}

// The tickers at the start of the text; empty unless the line of a histogram
// follows: the end of a LOG that is being written may be missing.
Tickers TakeTickers(std::string_view text) {
  Tickers tickers;
  for (;;) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    const std::string_view line = text.substr(0, end);
    if (!TakeTicker(line, &tickers)) {
      return line.find(kHistogram) == line.npos ? Tickers() : tickers;
    }
    text.remove_prefix(end + 1);
  }
}

// Sets *found to the newest statistics of the file. Returns what could not be
// read.
std::string ReadFrom(const std::string& path, LogStatistics* found) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  // Reads from the end, because a LOG may have gigabytes. Pieces overlap by
  // more than the tickers and the first histogram take.
  constexpr uint64_t kPiece = 1 << 20;
  constexpr uint64_t kOverlap = 1 << 16;
  std::string piece;
  for (uint64_t end = source->Size(); end > 0;) {
    const uint64_t start = end - std::min(end, kPiece);
    piece.resize(end - start);
    error = source->Read(start, piece.size(), piece.data());
    if (!error.empty()) return error;
    std::string time;
    const Tickers tickers = FindStatistics(piece, &time);
    if (!tickers.empty()) {
      *found = StatisticsOf(tickers);
      found->file = fs::path(path).filename().string();
      found->time = time;
      return {};
    }
    if (start == 0) break;
    end = start + kOverlap;
  }
  return {};
}

}  // namespace

Tickers FindStatistics(std::string_view log, std::string* time) {
  for (size_t at = log.rfind(kDumpStart); at != log.npos;
       at = log.rfind(kDumpStart, at - 1)) {
    // "2026/11/24-11:44:20.319901 24939 [db/db_impl/db_impl.cc:788". A LOG does
    // not begin with it.
    const size_t line = log.rfind('\n', at);
    if (line == log.npos) return {};
    Tickers tickers = TakeTickers(log.substr(at + kDumpStart.size()));
    if (tickers.empty()) continue;
    const std::string_view first = log.substr(line + 1, at - line - 1);
    *time = first.substr(0, first.find_first_of(" ."));
    return tickers;
  }
  return {};
}

LogStatistics StatisticsOf(const Tickers& tickers) {
  // The sum of several; nothing if one is missing.
  const auto sum = [&](std::initializer_list<const char*> names) {
    std::optional<uint64_t> all = 0;
    for (const char* name : names) {
      const auto found = tickers.find(std::string("rocksdb.") + name);
      all = all.has_value() && found != tickers.end()
                ? std::optional(*all + found->second)
                : std::nullopt;
    }
    return all;
  };
  // Returns `all` without `others`. Counters are read one after the
  // other while others count on, so a part may exceed the whole.
  const auto rest =
      [](const std::optional<uint64_t>& all,
         const std::optional<uint64_t>& others) -> std::optional<Outcomes> {
    if (!all.has_value() || !others.has_value() || *all == 0) return {};
    return Outcomes{*all, *all - std::min(*all, *others)};
  };
  LogStatistics statistics;
  statistics.gets =
      rest(sum({"number.keys.read", "number.multiget.keys.read"}),
           sum({"memtable.hit", "l0.hit", "l1.hit", "l2andup.hit"}));
  const auto passed = sum({"bloom.filter.full.positive"});
  const auto held = sum({"bloom.filter.full.true.positive"});
  const auto rejected = sum({"bloom.filter.useful"});
  if (passed.has_value() && held.has_value() && rejected.has_value()) {
    const uint64_t in_vain = *passed - std::min(*passed, *held);
    statistics.filtered = rest(*rejected + in_vain, rejected);
  }
  statistics.seeks =
      rest(sum({"number.db.seek"}), sum({"number.db.seek.found"}));
  statistics.run_seeks =
      rest(sum({"last.level.seek.data", "non.last.level.seek.data"}),
           sum({"last.level.seek.data.useful.no.filter",
                "last.level.seek.data.useful.filter.match",
                "non.last.level.seek.data.useful.no.filter",
                "non.last.level.seek.data.useful.filter.match"}));
  return statistics;
}

std::string ReadLogStatistics(const std::string& database,
                              LogStatistics* statistics) {
  *statistics = {};
  constexpr std::string_view kOld = "LOG.old.";
  // Old LOGs have their time in their names; the LOG is the newest.
  std::vector<std::pair<std::string, std::string>> logs;
  std::error_code error;
  fs::directory_iterator entry(database, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "LOG") logs.emplace_back("~", entry->path().string());
    if (name.compare(0, kOld.size(), kOld) == 0) {
      logs.emplace_back(name, entry->path().string());
    }
  }
  if (error) return database + ": cannot be read: " + error.message();
  std::sort(logs.rbegin(), logs.rend());
  for (const auto& [age, path] : logs) {
    const std::string problem = ReadFrom(path, statistics);
    // A running database removes old ones.
    std::error_code unknown;
    if (!problem.empty() &&
        fs::symlink_status(path, unknown).type() == fs::file_type::not_found) {
      continue;
    }
    if (!problem.empty() || !statistics->file.empty()) return problem;
  }
  return {};
}

}  // namespace deltabloom::tools
