#include "tests/range/workloads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/hash64.h"

namespace deltabloom::test {
namespace {

using internal::Remix64;
using std::to_string;

// The last `size` bytes of a number, in the order of numbers.
std::string Bytes(uint64_t number, size_t size = 8) {
  return BigEndian(number).substr(8 - size);
}

std::string Padded(uint64_t number, size_t digits) {
  const std::string text = to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

// A name of three to six syllables.
std::string Name(uint64_t number) {
  std::string name;
  const uint64_t hash = Remix64(number, 0);
  for (uint64_t rest = (hash >> 8) % (uint64_t{1} << (22 + hash % 16));
       rest > 0; rest /= 80) {
    name += "bcdfghklmnprstvw"[rest % 16];
    name += "aeiou"[rest / 16 % 5];
  }
  return name;
}

std::string Hex(uint64_t number) {
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) {
    hex += "0123456789abcdef"[number >> shift & 15];
  }
  return hex;
}

Range PrefixScan(const std::string& prefix) {
  return {prefix, NextPrefix(prefix)};
}

Range OneKey(const std::string& key) { return {key, key + '\0'}; }

// Keys are in even groups only, so that scans of odd groups are empty.
uint64_t Present(uint64_t groups, Random* random) {
  return 2 * random->Below(groups);
}
uint64_t Absent(uint64_t groups, Random* random) {
  return 2 * random->Below(groups) + 1;
}

template <typename KeyOf>
std::vector<std::string> DrawKeys(size_t n, const KeyOf& key_of) {
  std::vector<std::string> keys(n);
  for (std::string& key : keys) key = key_of();
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Keys `group rest`. Scans are of absent groups, or for one absent key of a
// group that may be present.
template <std::string (*kGroup)(uint64_t number), std::string (*kRest)(Random*)>
Table Groups(size_t n, uint64_t groups, Random* random) {
  return {
      DrawKeys(n,
               [&] { return kGroup(Present(groups, random)) + kRest(random); }),
      {{"group",
        [=](Random* r) { return PrefixScan(kGroup(Absent(groups, r))); }},
       {"key", [=](Random* r) {
          return OneKey(kGroup(Present(groups, r)) + kRest(r));
        }}}};
}

std::string Eight(Random* random) { return random->Key(8); }
std::string Million(Random* random) {
  return to_string(random->Below(1'000'000));
}
std::string MillionBytes(Random* random) {
  return Bytes(random->Below(1'000'000));
}

// --- Groups -----------------------------------------------------------------

std::string IndexedHash(uint64_t number) {
  return Bytes(7, 4) + Bytes(Remix64(number, 0));
}
std::string IndexedNumber(uint64_t number) {
  return Bytes(7, 4) + Bytes(number);
}
std::string MailFolder(uint64_t number) {
  return "/home/" + to_string(number % 97) + "/mail/" + to_string(number) + "/";
}
std::string User(uint64_t number) { return "user:" + to_string(number) + ":"; }
std::string Order(Random* random) { return "order:" + Million(random); }
std::string UserNumber(uint64_t number) { return Bytes(number); }
std::string SizedKey(uint64_t number) {
  const std::string key = "key" + to_string(number);
  return "\x02ns" + Bytes(key.size(), 4) + key;
}
std::string Field(Random* random) {
  return Bytes(5) + "field" + to_string(random->Below(100));
}
std::string Domain(uint64_t number) {
  return "com." + to_string(Remix64(number, 0) % 100'000) + "." +
         to_string(number % 7) + "." + to_string(number) + "/";
}
std::string Kind(uint64_t number) {
  constexpr const char* kKinds[] = {"a/", "item#", "session|", "x"};
  return kKinds[number / 2 % 4] + to_string(number) + "|";
}
// TiDB's encoding of text in groups of eight bytes.
std::string EncodedText(uint64_t number) {
  const std::string text = to_string(Remix64(number, 1));
  std::string key = "t" + Bytes(101 + number % 3) + "_i" + Bytes(1);
  for (size_t i = 0; i <= text.size(); i += 8) {
    std::string part = text.substr(i, 8);
    const size_t zeros = 8 - part.size();
    key += part + std::string(zeros, '\0') + static_cast<char>(255 - zeros);
  }
  return key;
}
std::string Handle(Random* random) { return Bytes(random->Below(1 << 30)); }
std::string Salted(uint64_t number) {
  return Bytes(Remix64(number, 2) % 16, 2) + "u" +
         to_string(100'000'000 + number);
}
std::string ReversedTime(Random* random) {
  return Bytes(~random->Below(1 << 30));
}
std::string Topic(uint64_t number) {
  return "topic-" + to_string(number / 16) + Bytes(Remix64(number, 9) % 64, 4);
}
std::string Offset(Random* random) { return Bytes(random->Below(1 << 20)); }
std::string HashDot(uint64_t number) { return Hex(Remix64(number, 3)) + "."; }
std::string Chunk(Random* random) { return "c" + to_string(random->Below(40)); }
// A prefix that all keys share is longer than most keys.
std::string LongUrl(uint64_t number) {
  static const auto& path =
      *new std::string("https://storage.example.com/" + std::string(70, 'a') +
                       "/" + std::string(70, 'b') + "/objects/");
  return path + Name(number) + "/";
}
std::string Mailbox(uint64_t number) {
  return Name(number) + "@" + Name(number % 50) + ".org/";
}
std::string Day(Random* random) {
  return "2026-" + Padded(1 + random->Below(12), 2) + "-" +
         Padded(1 + random->Below(28), 2) + "/" + Hex(random->Next());
}

// --- Several kinds of scans -------------------------------------------------

constexpr uint64_t kNow = 1'800'000'000;  // seconds
constexpr uint64_t kMonth = 30 * 24 * 3600;
constexpr uint64_t kHour = 3600;

// `tenant ~ time`, the tenant's name of any length.
Table TenantTime(size_t n, uint64_t groups, Random* random) {
  const uint64_t tenants = groups / 16 + 1;
  const auto tenant = [](uint64_t number) { return Name(number) + "~"; };
  const auto window = [=](uint64_t length) {
    return [=](Random* r) {
      const std::string name = tenant(Present(tenants, r));
      const uint64_t from = kNow - r->Below(kMonth);
      return Range{name + Bytes(from), name + Bytes(from + length)};
    };
  };
  return {DrawKeys(n,
                   [&] {
                     return tenant(Present(tenants, random)) +
                            Bytes(kNow - random->Below(kMonth));
                   }),
          {{"hour", window(kHour)},
           {"minute", window(60)},
           {"tenant", [=](Random* r) {
              return PrefixScan(tenant(Absent(tenants, r)));
            }}}};
}

// The keys have the sizes that db_stress uses: 8, 16 or 24 bytes, the longer
// ones more often.
Table MixedSizes(size_t n, uint64_t groups, Random* random) {
  const auto key_of = [](uint64_t number) {
    std::string key = Bytes(number / 100);
    if (number % 100 != 0) key += Bytes(number % 100 / 10);
    if (number % 10 != 0) key += Bytes(number % 10);
    return key;
  };
  const uint64_t all = 400 * groups;
  const auto window = [=](uint64_t most) {
    return [=](Random* r) {
      const uint64_t from = r->Below(all);
      return Range{key_of(from), key_of(from + 1 + r->Below(most))};
    };
  };
  return {DrawKeys(n, [&] { return key_of(random->Below(all)); }),
          {{"few", window(8)},
           {"many", window(100)},
           {"prefix", [=](Random* r) {
              return PrefixScan(Bytes(r->Below(all / 100)));
            }}}};
}

// `user uuid`, both without structure.
Table Uuids(size_t n, uint64_t groups, Random* random) {
  const auto user = [](uint64_t number) { return Bytes(Remix64(number, 4)); };
  return {
      DrawKeys(n,
               [&] { return user(Present(groups, random)) + random->Key(16); }),
      {{"user", [=](Random* r) { return PrefixScan(user(Absent(groups, r))); }},
       {"uuid",
        [=](Random* r) {
          return OneKey(user(Present(groups, r)) + r->Key(16));
        }},
       {"uuid prefix", [=](Random* r) {
          return PrefixScan(user(Present(groups, r)) + r->Key(4));
        }}}};
}

// Hosts with their domain first, then the time of a fetch.
Table HostTime(size_t n, uint64_t groups, Random* random) {
  const auto domain = [](uint64_t number) {
    return "com." + Name(number / 4) + ".";
  };
  const auto host = [domain](uint64_t number) {
    return domain(number) + "host" + to_string(Remix64(number, 8) % 100) + "|";
  };
  const auto present = [=](Random* r) { return host(Present(groups, r)); };
  return {
      DrawKeys(n,
               [&] {
                 return present(random) + Bytes(kNow - random->Below(kMonth));
               }),
      {{"host", [=](Random* r) { return PrefixScan(host(Absent(groups, r))); }},
       {"domain",
        [=](Random* r) {
          return PrefixScan(domain(2 * groups + 4 * r->Below(groups)));
        }},
       {"day", [=](Random* r) {
          const std::string name = present(r);
          const uint64_t from = kNow - r->Below(kMonth);
          return Range{name + Bytes(from), name + Bytes(from + 24 * kHour)};
        }}}};
}

// Folders in folders in folders.
Table Paths(size_t n, uint64_t groups, Random* random) {
  const auto folder = [](uint64_t number) {
    return "/srv/" + Name(number / 2 % 50) + "/" + Name(number) + "/";
  };
  const auto file = [](Random* r) {
    return Name(r->Below(4000)) + "/" + to_string(r->Below(100)) + ".txt";
  };
  return {
      DrawKeys(n,
               [&] { return folder(Present(groups, random)) + file(random); }),
      {{"folder",
        [=](Random* r) { return PrefixScan(folder(Absent(groups, r))); }},
       {"subfolder",
        [=](Random* r) {
          return PrefixScan(folder(Present(groups, r)) + Name(r->Below(4000)) +
                            "/");
        }},
       {"file", [=](Random* r) {
          return OneKey(folder(Present(groups, r)) + file(r));
        }}}};
}

// Integers anywhere, and ranges of several lengths.
Table Integers(size_t n, uint64_t, Random* random) {
  const auto window = [](uint64_t length) {
    return [=](Random* r) {
      const uint64_t from = r->Next() >> 1;
      return Range{Bytes(from), Bytes(from + length)};
    };
  };
  Table table{DrawKeys(n, [&] { return Bytes(random->Next()); }), {}};
  table.kinds = {{"16", window(16)},
                 {"1024", window(1024)},
                 {"2^30", window(1 << 30)},
                 {"2^44", window(uint64_t{1} << 44)},
                 {"16 behind a key", [keys = table.keys](Random* r) {
                    const std::string& key = keys[r->Below(keys.size())];
                    const uint64_t from = NumberOf(key) + 1 + r->Below(1000);
                    return Range{Bytes(from), Bytes(from + 16)};
                  }}};
  return table;
}

// Events of some sources: integers in series.
Table Series(size_t n, uint64_t groups, Random* random) {
  const uint64_t sources = groups / 64 + 1;
  const auto start = [](uint64_t number) { return Remix64(number, 5) >> 1; };
  const auto window = [=](uint64_t length) {
    return [=](Random* r) {
      const uint64_t from = start(Present(sources, r)) + r->Below(10'000'000);
      return Range{Bytes(from), Bytes(from + length)};
    };
  };
  return {DrawKeys(n,
                   [&] {
                     return Bytes(start(Present(sources, random)) +
                                  random->Below(10'000'000));
                   }),
          {{"1024", window(1024)}, {"16384", window(16384)}}};
}

// table, index, tenant, handle: four integers in a row.
Table Composite(size_t n, uint64_t groups, Random* random) {
  const auto tenant = [](uint64_t number) {
    return Bytes(12, 4) + Bytes(number % 3 + 1, 4) + Bytes(number);
  };
  const auto handle = [](Random* r) { return r->Below(1 << 24); };
  return {DrawKeys(n,
                   [&] {
                     return tenant(Present(groups, random)) +
                            Bytes(handle(random));
                   }),
          {{"tenant",
            [=](Random* r) { return PrefixScan(tenant(Absent(groups, r))); }},
           {"handle",
            [=](Random* r) {
              return OneKey(tenant(Present(groups, r)) + Bytes(handle(r)));
            }},
           {"handles", [=](Random* r) {
              const std::string prefix = tenant(Present(groups, r));
              const uint64_t from = handle(r);
              return Range{prefix + Bytes(from), prefix + Bytes(from + 1000)};
            }}}};
}

// One time series of a metric: a number, a hash of its tags, the time.
Table Metrics(size_t n, uint64_t groups, Random* random) {
  const uint64_t all = groups / 4 + 1;
  const auto series = [](uint64_t number) {
    return Bytes(number / 2 % 100, 4) + Bytes(Remix64(number, 6));
  };
  const auto window = [=](uint64_t length) {
    return [=](Random* r) {
      const std::string prefix = series(Present(all, r));
      const uint64_t from = 1000 * (kNow - r->Below(kMonth));
      return Range{prefix + Bytes(from), prefix + Bytes(from + length)};
    };
  };
  return {DrawKeys(n,
                   [&] {
                     return series(Present(all, random)) +
                            Bytes(1000 * (kNow - random->Below(kMonth)) +
                                  random->Below(1000));
                   }),
          {{"series",
            [=](Random* r) { return PrefixScan(series(Absent(all, r))); }},
           {"five minutes", window(300'000)},
           {"six hours", window(6 * 3'600'000)}}};
}

// Fields of a fixed number of digits.
Table Decimals(size_t n, uint64_t groups, Random* random) {
  const auto user = [](uint64_t number) {
    return "user" + Padded(number, 10) + "#";
  };
  const auto day = [](uint64_t number) {
    return "2026" + Padded(1 + number / 28 % 12, 2) +
           Padded(1 + number % 28, 2);
  };
  return {
      DrawKeys(n,
               [&] {
                 return user(Present(groups, random)) +
                        day(random->Below(336)) + "T" +
                        Padded(random->Below(24 * 3600), 6);
               }),
      {{"user", [=](Random* r) { return PrefixScan(user(Absent(groups, r))); }},
       {"day",
        [=](Random* r) {
          return PrefixScan(user(Present(groups, r)) + day(r->Below(336)));
        }},
       {"users", [=](Random* r) {
          const uint64_t from = r->Below(2 * groups);
          return Range{user(from), user(from + 3)};
        }}}};
}

// Cells of a geohash, then an identifier.
Table Geohash(size_t n, uint64_t groups, Random* random) {
  const auto cell = [](uint64_t number, size_t size) {
    std::string text;
    const uint64_t hash = Remix64(number, 7);
    for (size_t i = 0; i < size; ++i) {
      // A part of the world.
      const uint64_t letters = i < 2 ? 4 : 32;
      text += "0123456789bcdefghjkmnpqrstuvwxyz"[(hash >> 5 * i) % letters];
    }
    return text;
  };
  return {DrawKeys(n,
                   [&] {
                     return cell(Present(groups, random), 9) + "/" +
                            to_string(random->Below(1'000'000));
                   }),
          {{"cell of 9",
            [=](Random* r) { return PrefixScan(cell(Absent(groups, r), 9)); }},
           {"cell of 7",
            [=](Random* r) { return PrefixScan(cell(Absent(groups, r), 7)); }},
           {"cell of 6", [=](Random* r) {
              return PrefixScan(cell(Absent(groups, r), 6));
            }}}};
}

// Integers of as few bytes as they need, as CockroachDB has them, and a time.
Table Varints(size_t n, uint64_t groups, Random* random) {
  const auto varint = [](uint64_t number) {
    if (number < 110) return std::string(1, static_cast<char>(0x88 + number));
    size_t size = 1;
    while (size < 8 && number >> 8 * size != 0) ++size;
    return static_cast<char>(0xf5 + size) + Bytes(number, size);
  };
  const auto account = [varint](uint64_t number) {
    return varint(104) + varint(1) + varint(number);
  };
  const auto entry = [varint](Random* r) { return varint(r->Below(100'000)); };
  return {DrawKeys(n,
                   [&] {
                     return account(Present(groups, random)) + entry(random) +
                            std::string(1, '\0') +
                            Bytes(random->Below(1 << 30)) + '\t';
                   }),
          {{"account",
            [=](Random* r) { return PrefixScan(account(Absent(groups, r))); }},
           {"entry", [=](Random* r) {
              return PrefixScan(account(Present(groups, r)) + entry(r));
            }}}};
}

// Names alone.
Table Words(size_t n, uint64_t groups, Random* random) {
  const uint64_t all = 16 * groups;
  return {DrawKeys(n, [&] { return Name(Present(all, random)); }),
          {{"word", [=](Random* r) { return OneKey(Name(Absent(all, r))); }},
           {"beginning", [=](Random* r) {
              const std::string name = Name(Absent(all, r));
              return PrefixScan(name.substr(0, name.size() - 1));
            }}}};
}

}  // namespace

bool Table::Holds(const Range& range) const {
  const auto key = std::lower_bound(keys.begin(), keys.end(), range.lower);
  return key != keys.end() && *key < range.upper;
}

Range Table::DrawEmpty(const ScanKind& kind, Random* random) const {
  for (int draws = 0; draws < 1000; ++draws) {
    Range range = kind.draw(random);
    if (range.lower < range.upper && !Holds(range)) return range;
  }
  return {};
}

const std::vector<Workload>& Workloads() {
  static const auto& workloads = *new std::vector<Workload>{
      {"SecondaryIndex", {14, 4, 40}, Groups<IndexedHash, Eight>},
      {"DenseIndex", {10, 3, 44}, Groups<IndexedNumber, Eight>},
      {"MailFolders", {13, 4, 29}, Groups<MailFolder, Million>},
      {"UserOrderText", {15, 4, 23}, Groups<User, Order>},
      {"UserOrderIntegers", {12, 4, 17}, Groups<UserNumber, MillionBytes>},
      {"FieldsOfAKey", {27, 8, 37}, Groups<SizedKey, Field>},
      {"ReversedDomains", {16, 4, 41}, Groups<Domain, Million>},
      {"SeveralKinds", {19, 5, 22}, Groups<Kind, Million>},
      {"TextInGroupsOfEight", {28, 4, 82}, Groups<EncodedText, Handle>},
      {"SaltUserTime", {29, 5, 54}, Groups<Salted, ReversedTime>},
      {"TopicPartition", {19, 4, 30}, Groups<Topic, Offset>},
      {"LongHash", {14, 9, 31}, Groups<HashDot, Chunk>},
      {"LongUrls", {17, 5, 29}, Groups<LongUrl, Million>},
      {"Mailboxes", {16, 4, 46}, Groups<Mailbox, Day>},
      {"TenantTime", {15, 12, 43}, TenantTime},
      {"MixedSizes", {36, 36, 40}, MixedSizes},
      {"Uuids", {13, 4, 59}, Uuids},
      {"HostTime", {29, 15, 51}, HostTime},
      {"Paths", {19, 5, 59}, Paths},
      {"Integers", {100, 24, 100}, Integers},
      {"Series", {64, 19, 66}, Series},
      {"Composite", {12, 4, 59}, Composite},
      {"Metrics", {27, 14, 100}, Metrics},
      {"Decimals", {100, 100, 100}, Decimals},
      {"Geohash", {13, 2, 61}, Geohash},
      {"Varints", {23, 6, 33}, Varints},
      {"Words", {11, 5, 10}, Words},
  };
  return workloads;
}

}  // namespace deltabloom::test
