// The keys of the study of hashes.
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/study/studies.h"

namespace deltabloom::study {
namespace {

constexpr std::string_view kLettersAndDigits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

using Random = std::mt19937_64;

size_t Uniform(Random* random, size_t from, size_t to) {
  return from + (*random)() % (to - from + 1);
}

std::string Letters(Random* random, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kLettersAndDigits[(*random)() % kLettersAndDigits.size()];
  }
  return text;
}

// Draws until there are `count` keys and the absent ones, all distinct.
KeySet Generate(std::string name, std::string origin, size_t count,
                size_t absent, uint64_t seed,
                const std::function<std::string(Random*)>& draw) {
  KeySet set{std::move(name), std::move(origin), {}, {}};
  Random random(seed);
  std::unordered_set<std::string> seen;
  while (set.absent.size() < absent) {
    std::string key = draw(&random);
    if (!seen.insert(key).second) continue;
    auto& side = set.keys.size() < count ? set.keys : set.absent;
    side.push_back(std::move(key));
  }
  return set;
}

// Splits distinct lines into keys and absent keys, in an order that does not
// depend on the file system.
void Split(std::unordered_set<std::string> lines, KeySet* set) {
  std::vector<std::string> sorted(lines.begin(), lines.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    (i % 2 == 0 ? set->keys : set->absent).push_back(std::move(sorted[i]));
  }
}

}  // namespace

uint64_t KeySet::KeyBytes() const {
  uint64_t bytes = 0;
  for (const std::string& key : keys) bytes += key.size();
  return bytes;
}

KeySet RandomStrings(size_t count, size_t absent, uint64_t seed) {
  return Generate(
      "random_strings", "generated: 8 to 32 letters and digits at random",
      count, absent, seed,
      [](Random* random) { return Letters(random, Uniform(random, 8, 32)); });
}

KeySet VideoIds(size_t count, size_t absent, uint64_t seed) {
  // The published ids take 8.9 bytes on average: nearly all have nine digits.
  return Generate("video_ids", "generated: numbers of 1 to 9 digits", count,
                  absent, seed, [](Random* random) {
                    const uint64_t id = (*random)() % 1000000000;
                    const bool old = (*random)() % 25 == 0;
                    return std::to_string(old ? id % 10000000 : id);
                  });
}

KeySet AppAccounts(size_t count, size_t absent, uint64_t seed) {
  // The published accounts take 8 bytes on average; lengths fall off slowly.
  return Generate("app_accounts",
                  "generated: 2 to 28 letters and digits, 8 on average", count,
                  absent, seed, [](Random* random) {
                    std::binomial_distribution<size_t> length(26, 0.235);
                    std::string name = Letters(random, 2 + length(*random));
                    // Names that people choose seldom mix cases.
                    if ((*random)() % 8 != 0) {
                      for (char& c : name) {
                        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
                      }
                    }
                    return name;
                  });
}

std::vector<KeySet> RealKeys() {
  struct {
    const char* name;
    const char* origin;
    const char* command;  // prints one key per line
  } constexpr kSources[] = {
      {"words",
       "/usr/share/dict/american-english-huge (package wamerican-huge)",
       "cat /usr/share/dict/american-english-huge"},
      {"file_paths",
       "files of the installed Debian packages (/var/lib/dpkg/info/*.list)",
       "cat /var/lib/dpkg/info/*.list"},
      {"urls", "home pages of the Debian packages known to apt or installed",
       "{ cat /var/lib/dpkg/status; apt-cache dumpavail; } | "
       "sed -n 's/^Homepage: //p'"},
  };
  std::vector<KeySet> sets;
  for (const auto& source : kSources) {
    sets.push_back({source.name, source.origin, {}, {}});
    const std::string command =
        std::string("{ ") + source.command + "; } 2>/dev/null";
    std::string output;
    if (FILE* const pipe = popen(command.c_str(), "r")) {
      char bytes[1 << 16];
      for (size_t n; (n = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
        output.append(bytes, n);
      }
      pclose(pipe);
    }
    std::unordered_set<std::string> lines;
    std::istringstream stream(output);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    Split(std::move(lines), &sets.back());
  }
  return sets;
}

KeySet ReadKeys(const std::string& path) {
  const auto fail = [&path](const std::string& problem) {
    throw bench::UsageError("--keys " + path + ": " + problem +
                            "; give a file with one key per line");
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail("is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::strerror(errno));
  std::unordered_set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.insert(std::move(line));
  }
  if (file.bad()) fail(std::strerror(errno));
  if (lines.size() < 2) {
    fail("has " + std::to_string(lines.size()) +
         " distinct keys, and half of at least 2 are looked up as absent");
  }
  KeySet set{
      "your_keys", std::filesystem::path(path).filename().string(), {}, {}};
  Split(std::move(lines), &set);
  return set;
}

}  // namespace deltabloom::study
