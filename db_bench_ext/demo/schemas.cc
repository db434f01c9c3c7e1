#include "db_bench_ext/demo/schemas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::demo {
namespace {

using bench::Mix;

// The last `size` bytes of a number, in the order of numbers.
std::string Bytes(uint64_t number, size_t size = 8) {
  std::string bytes(size, '\0');
  for (size_t i = size; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

// Lower-case letters.
std::string Letters(uint64_t random, size_t size) {
  std::string text;
  while (text.size() < size) {
    random = Mix(random);
    text.push_back(static_cast<char>('a' + random % 26));
  }
  return text;
}

uint64_t Random(uint64_t group, uint64_t i) { return Mix(Mix(group) + i); }

// A random number below `bound`, larger for a larger i < 10.
uint64_t Ascending(uint64_t group, uint64_t i, uint64_t bound) {
  const uint64_t step = bound / 10;
  return i * step + Random(group, i) % step;
}

// All keys that begin with `prefix`, which is not all ff.
Scan AllOf(const std::string& prefix) {
  std::string upper = prefix;
  while (upper.back() == '\xff') upper.pop_back();
  ++upper.back();
  return {prefix, upper};
}

template <size_t kBytes>
size_t FixedPrefix(std::string_view key) {
  return std::min(key.size(), kBytes);
}

// Returns the size of the prefix that ends with delimiter number `kNumber`.
template <char kDelimiter, int kNumber>
size_t PrefixTo(std::string_view key) {
  size_t end = 0;
  for (int i = 0; i < kNumber && end < key.size(); ++i) {
    end = std::min(key.find(kDelimiter, end), key.size() - 1) + 1;
  }
  return end;
}

// --- The groups of each schema ----------------------------------------------

std::string IndexValue(uint64_t group) {
  return Bytes(7, 4) + Bytes(Mix(group));
}

std::string Folder(uint64_t group) {
  return "/home/" + std::to_string(group % 97) + "/mail/" +
         std::to_string(group) + "/";
}

std::string TenantInTable(uint64_t group) {
  return Bytes(101 + group % 5, 4) + Bytes(group);
}

std::string Host(uint64_t group) {
  return "com." + Letters(group % 3000, 3 + group % 7) + ".host-" +
         std::to_string(group) + "/";
}

std::string User(uint64_t group) {
  return "user:" + std::to_string(group) + ":";
}

constexpr uint64_t kNumbersInScan = 1024;

uint64_t FirstNumber(uint64_t group) { return Mix(group) >> 1; }

std::string Tenant(uint64_t group) {
  return Letters(group, Random(group, 0) % 20) + std::to_string(group) + '\0';
}

// Times are in microseconds; scans are within a day.
constexpr uint64_t kHour = 3'600'000'000;
uint64_t TimeOfScan(uint64_t group) {
  return 1'790'000'000'000'000 + Random(group, 11) % (24 * kHour);
}

// Newer entries come first.
std::string EntryOfTenant(uint64_t group, uint64_t age) {
  return Tenant(group) + Bytes(~(TimeOfScan(group) - age));
}

std::string Document(uint64_t group, uint64_t document) {
  return Bytes(group) + Bytes(Random(group, document));
}

std::string Uuid(uint64_t group) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : Bytes(Mix(group)) + Bytes(Random(group, 7))) {
    text += kDigits[byte >> 4 & 15];
    text += kDigits[byte & 15];
  }
  for (const size_t at : {20u, 16u, 12u, 8u}) text.insert(at, "-");
  return text;
}

std::string TagsOf(uint64_t group) { return "tag/" + Uuid(group) + "/"; }

std::string EdgesOf(uint64_t group, uint64_t type) {
  return Bytes(group) + Bytes(type, 1);
}

constexpr uint64_t kTypeOfScan = 5;

std::string Room(uint64_t group) {
  return "room/" + std::to_string(group) + "/";
}

std::string Message(uint64_t group, uint64_t time) {
  return Room(group) + Bytes(time);
}

// Cells of a map, 2^20 points each, in 64 cities of 2^44 points.
std::string CellOfMap(uint64_t group, uint64_t point) {
  const uint64_t city = Mix(group % 64) >> 44 << 44;
  const uint64_t cell = (group / 64 * 0x9e3779b1 & 0xffffff) << 20;
  return Bytes(city + cell + point);
}

constexpr uint64_t kPointsOfCell = uint64_t{1} << 20;

std::string Object(uint64_t group) {
  return "backups/" + Letters(group % 7, 40) + "/" + Letters(group % 1000, 60) +
         "/" + Letters(group, 40) + std::to_string(group) + '\0';
}

// --- The schemas -------------------------------------------------------------

Schema SecondaryIndexSchema() {
  Schema schema = {"secondary-index", "all rows of a value"};
  schema.scan = [](uint64_t group) { return AllOf(IndexValue(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return IndexValue(group) + Bytes(Random(group, i));
  };
  schema.prefix = FixedPrefix<12>;
  schema.prefixes = "12";
  return schema;
}

Schema FoldersSchema() {
  Schema schema = {"folders", "the children of a folder"};
  schema.scan = [](uint64_t group) { return AllOf(Folder(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return Folder(group) + std::to_string(Ascending(group, i, 1'000'000));
  };
  schema.prefix = PrefixTo<'/', 5>;
  schema.prefixes = "'/'x5";
  return schema;
}

Schema TenantRowsSchema() {
  Schema schema = {"tenant-rows", "the rows of a tenant in a table"};
  schema.scan = [](uint64_t group) { return AllOf(TenantInTable(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return TenantInTable(group) + Bytes(Random(group, i));
  };
  schema.prefix = FixedPrefix<12>;
  schema.prefixes = "12";
  return schema;
}

Schema HostsSchema() {
  Schema schema = {"hosts", "all times of a reversed host name"};
  schema.scan = [](uint64_t group) { return AllOf(Host(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return Host(group) + Bytes(~Ascending(group, i, 1000 * kHour));
  };
  schema.prefix = PrefixTo<'/', 1>;
  schema.prefixes = "'/'";
  return schema;
}

Schema UserOrdersSchema() {
  Schema schema = {"user-orders", "the orders of a user"};
  schema.scan = [](uint64_t group) { return AllOf(User(group) + "order:"); };
  schema.found = [](uint64_t group, uint64_t i) {
    return User(group) +
           "order:" + std::to_string(Ascending(group, i, 1'000'000));
  };
  schema.prefix = PrefixTo<':', 3>;
  schema.prefixes = "':'x3";
  return schema;
}

Schema IntegersSchema() {
  Schema schema = {"integers", "1,024 numbers of 64 bits"};
  schema.scan = [](uint64_t group) {
    const uint64_t first = FirstNumber(group);
    return Scan{Bytes(first), Bytes(first + kNumbersInScan)};
  };
  schema.found = [](uint64_t group, uint64_t i) {
    return Bytes(FirstNumber(group) + Ascending(group, i, kNumbersInScan));
  };
  schema.prefixes = "54b";
  return schema;
}

Schema LastHourSchema() {
  Schema schema = {"last-hour",
                   "the last hour of a tenant that has older entries"};
  schema.scan = [](uint64_t group) {
    return Scan{EntryOfTenant(group, 0), EntryOfTenant(group, kHour)};
  };
  schema.found = [](uint64_t group, uint64_t i) {
    return EntryOfTenant(group, Ascending(group, i, kHour));
  };
  schema.others = 10;
  schema.other = [](uint64_t group, uint64_t i) {
    return EntryOfTenant(group, kHour + Ascending(group, i, 30 * 24 * kHour));
  };
  schema.prefix = PrefixTo<'\0', 1>;
  schema.prefixes = "0x00x1+34b";
  return schema;
}

Schema DocumentsSchema() {
  Schema schema = {"documents",
                   "a document and its revisions, keys of 8, 16 and 24 bytes"};
  schema.scan = [](uint64_t group) { return AllOf(Document(group, 0)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return Document(group, 0) + (i == 0 ? "" : Bytes(i));
  };
  schema.others = 3;
  schema.other = [](uint64_t group, uint64_t i) {
    return i == 0 ? Bytes(group)
                  : Document(group, 1) + (i == 1 ? "" : Bytes(1));
  };
  schema.prefix = FixedPrefix<16>;
  schema.prefixes = "16";
  return schema;
}

Schema TagsSchema() {
  Schema schema = {"tags", "the tags of a document, all under UUIDs"};
  schema.scan = [](uint64_t group) { return AllOf(TagsOf(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return TagsOf(group) + Letters(i, 6);
  };
  schema.others = 1;
  schema.other = [](uint64_t group, uint64_t) { return "doc/" + Uuid(group); };
  schema.prefix = PrefixTo<'/', 2>;
  schema.prefixes = "'/'x2";
  return schema;
}

Schema EdgesSchema() {
  Schema schema = {"edges", "the edges of a type of a vertex that has others"};
  schema.scan = [](uint64_t group) {
    return AllOf(EdgesOf(group, kTypeOfScan));
  };
  schema.found = [](uint64_t group, uint64_t i) {
    return EdgesOf(group, kTypeOfScan) + Bytes(Random(group, i));
  };
  schema.others = 4;
  schema.other = [](uint64_t group, uint64_t i) {
    constexpr uint64_t kTypes[] = {1, 4, 6, 30};
    return EdgesOf(group, kTypes[i]) + Bytes(Random(group, i));
  };
  schema.prefix = FixedPrefix<9>;
  schema.prefixes = "8,9";
  return schema;
}

Schema VerticesSchema() {
  Schema schema = {"vertices", "all edges of a vertex"};
  schema.scan = [](uint64_t group) { return AllOf(Bytes(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return EdgesOf(group, i % 4) + Bytes(Random(group, i));
  };
  schema.prefix = FixedPrefix<8>;
  schema.prefixes = "8,9";
  return schema;
}

Schema UnreadMessagesSchema() {
  Schema schema = {"unread-messages",
                   "the new messages in a room that has older ones"};
  schema.scan = [](uint64_t group) {
    return Scan{Message(group, TimeOfScan(group)), AllOf(Room(group)).upper};
  };
  schema.found = [](uint64_t group, uint64_t i) {
    return Message(group, TimeOfScan(group) + Ascending(group, i, 9 * kHour));
  };
  schema.others = 10;
  schema.other = [](uint64_t group, uint64_t i) {
    return Message(group,
                   TimeOfScan(group) - 1 - Ascending(group, i, 99 * kHour));
  };
  schema.prefix = PrefixTo<'/', 2>;
  schema.prefixes = "'/'x2";
  return schema;
}

Schema MapCellsSchema() {
  Schema schema = {"map-cells", "the places in a cell of a map"};
  schema.scan = [](uint64_t group) {
    return Scan{CellOfMap(group, 0), CellOfMap(group, kPointsOfCell)};
  };
  schema.found = [](uint64_t group, uint64_t i) {
    return CellOfMap(group, Ascending(group, i, kPointsOfCell)) +
           Bytes(Random(group, i));
  };
  schema.prefixes = "44b";
  return schema;
}

Schema ObjectVersionsSchema() {
  Schema schema = {"object-versions",
                   "the versions of an object, names of 150 bytes"};
  schema.scan = [](uint64_t group) { return AllOf(Object(group)); };
  schema.found = [](uint64_t group, uint64_t i) {
    return Object(group) + Bytes(~Ascending(group, i, 1000 * kHour));
  };
  schema.prefix = PrefixTo<'\0', 1>;
  schema.prefixes = "0x00";
  return schema;
}

}  // namespace

const std::vector<Schema>& Schemas() {
  static const auto& schemas = *new std::vector<Schema>{
      SecondaryIndexSchema(), FoldersSchema(),        TenantRowsSchema(),
      HostsSchema(),          UserOrdersSchema(),     IntegersSchema(),
      LastHourSchema(),       DocumentsSchema(),      TagsSchema(),
      EdgesSchema(),          VerticesSchema(),       UnreadMessagesSchema(),
      MapCellsSchema(),       ObjectVersionsSchema(),
  };
  return schemas;
}

SchemaKeys::SchemaKeys(const Schema& schema, uint64_t most, uint64_t seed)
    : schema_(schema), seed_(seed) {
  constexpr uint64_t kFound[] = {0, 1, 10};
  while (true) {
    const uint64_t found = kFound[groups_ % kFinds];
    if (keys_.size() + found + schema.others > most) break;
    for (uint64_t i = 0; i < found; ++i) {
      keys_.push_back(schema.found(groups_, i));
    }
    for (uint64_t i = 0; i < schema.others; ++i) {
      keys_.push_back(schema.other(groups_, i));
    }
    ++groups_;
  }
  SetKeys(std::move(keys_));
}

void SchemaKeys::SetKeys(std::vector<std::string> keys) {
  keys_ = std::move(keys);
  bench::MixedNumbers random(seed_);
  for (uint64_t i = keys_.size(); i > 1; --i) {
    std::swap(keys_[i - 1], keys_[random.Below(i)]);
  }
  sorted_.assign(keys_.begin(), keys_.end());
  std::sort(sorted_.begin(), sorted_.end());
}

SchemaKeys::SchemaKeys(const Schema& schema, const FileKeys& file,
                       uint64_t seed)
    : schema_(schema), seed_(seed) {
  std::ifstream lines(file.path);
  if (!lines) throw std::runtime_error(file.path + ": cannot be read");
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) keys.push_back(line);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const std::vector<std::string> all = keys;
  const auto held_out = [seed](const std::string& key) {
    return Mix(seed + std::hash<std::string>()(key)) % 10 == 0;
  };
  keys.erase(std::remove_if(keys.begin(), keys.end(), held_out), keys.end());
  // A scan finds some keys, or none.
  if (keys.size() < 1000) {
    throw std::runtime_error(file.path + ": fewer than 1,000 different keys");
  }
  SetKeys(std::move(keys));
  const bool is_number =
      file.delimiter.find_first_not_of("0123456789") == std::string::npos;
  for (const std::string& key : all) {
    if (is_number) {
      AddScan(key.substr(0, std::stoul(file.delimiter)));
      continue;
    }
    AddScan(key + file.delimiter);
    const size_t end = key.find_last_of(file.delimiter, key.size() - 2);
    if (held_out(key) && end != std::string::npos) {
      AddScan(key.substr(0, end + 1));
    }
  }
  if (scans_[0].empty()) {
    throw std::runtime_error(file.path + ": no scan would find nothing");
  }
}

void SchemaKeys::AddScan(const std::string& prefix) {
  // A scan of many keys takes its time to read them.
  constexpr size_t kMostKeys = 100;
  const auto first = std::lower_bound(sorted_.begin(), sorted_.end(),
                                      std::string_view(prefix));
  size_t found = 0;
  for (auto at = first; at != sorted_.end() && found <= kMostKeys &&
                        at->substr(0, prefix.size()) == prefix;
       ++at) {
    ++found;
  }
  if (found > kMostKeys) return;
  scans_[std::min<size_t>(found, 2)].push_back(AllOf(prefix));
}

Scan SchemaKeys::ScanOf(Finds finds, uint64_t i) const {
  const uint64_t random = Mix(Mix(seed_) + i);
  if (schema_.scan == nullptr) {
    const std::vector<Scan>& scans = scans_[static_cast<size_t>(finds)];
    // If a file has no scan that finds this many keys, it returns one that
    // finds none.
    return scans.empty() ? scans_[0][random % scans_[0].size()]
                         : scans[random % scans.size()];
  }
  return schema_.scan(bench::Scale(random, groups_ / kFinds) * kFinds +
                      static_cast<uint64_t>(finds));
}

std::vector<std::string_view> SchemaKeys::KeysIn(const Scan& scan) const {
  std::vector<std::string_view> keys;
  for (auto at = std::lower_bound(sorted_.begin(), sorted_.end(),
                                  std::string_view(scan.lower));
       at != sorted_.end() && *at < scan.upper; ++at) {
    keys.push_back(*at);
  }
  return keys;
}

}  // namespace deltabloom::demo
