// Keys of many shapes and the scans that are made of them, and scans that are
// compared with RocksDB's own iterator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/rocksdb_ranges.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"
#include "util/hash64.h"

namespace deltabloom::testing {

// --- Keys -------------------------------------------------------------------

// The last `size` bytes of a number, in the order of numbers.
inline std::string BigEndianBytes(uint64_t number, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = size; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

inline std::string Decimal(uint64_t number, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%0*llu", digits,
                static_cast<unsigned long long>(number));
  return text;
}

// Keys of one shape, of which half of the numbers are stored: so that there is
// an absent neighbour of each.
struct KeyShape {
  const char* name;
  std::string (*key)(uint64_t number);
};

inline uint64_t Mixed(uint64_t number) { return internal::Remix64(number, 0); }

inline const KeyShape kKeyShapes[] = {
    {"dense integers", [](uint64_t n) { return BigEndianBytes(n, 8); }},
    {"sparse integers", [](uint64_t n) { return BigEndianBytes(Mixed(n), 8); }},
    {"integers of 3 bytes", [](uint64_t n) { return BigEndianBytes(n, 3); }},
    {"two integers",
     [](uint64_t n) {
       return BigEndianBytes(n / 50, 4) + BigEndianBytes(Mixed(n), 8);
     }},
    {"secondary index",
     [](uint64_t n) {
       return BigEndianBytes(7, 4) + BigEndianBytes(Mixed(n / 8), 8) +
              BigEndianBytes(Mixed(n), 8);
     }},
    {"table, tenant, handle",
     [](uint64_t n) {
       return "t" + BigEndianBytes(n % 3, 8) + "_r" +
              BigEndianBytes(Mixed(n / 3 % 40), 8) + BigEndianBytes(n, 8);
     }},
    {"paths",
     [](uint64_t n) {
       return "/home/" + std::to_string(n % 7) + "/mail/" +
              std::to_string(n / 20) + "/" + std::to_string(n);
     }},
    {"orders of users",
     [](uint64_t n) {
       return "user:" + std::to_string(n / 10) + ":order:" + std::to_string(n);
     }},
    {"reversed hosts and times",
     [](uint64_t n) {
       return "com.example." + std::to_string(Mixed(n / 30) % 1000) + ".www!" +
              Decimal(1'700'000'000 + n * 17, 12);
     }},
    {"tenants and times",
     [](uint64_t n) {
       const std::string name(1 + n % 11, static_cast<char>('a' + n % 26));
       return "tenant " + name + "~" + BigEndianBytes(n * 1000, 8);
     }},
    {"keys of 8, 16 and 24 bytes",
     [](uint64_t n) {
       std::string key = BigEndianBytes(n / 5, 8);
       for (uint64_t i = 0; i < n % 3; ++i) key += BigEndianBytes(n % 100, 8);
       return key;
     }},
    {"uuids",
     [](uint64_t n) {
       return "object/" + Decimal(Mixed(n) % 100'000'000, 8) + "-4" +
              Decimal(Mixed(n + 1) % 1000, 3);
     }},
    {"prefixes of each other",
     [](uint64_t n) { return std::string(n % 40, 'a') + std::to_string(n); }},
    {"long common beginnings",
     [](uint64_t n) { return std::string(100 + n % 3, 'x') + Decimal(n, 6); }},
    {"the smallest and the largest bytes",
     [](uint64_t n) {
       std::string key(n % 4, '\xff');
       for (; n > 0; n /= 3) key += "\x00\x01\xff"[n % 3];
       return key;
     }},
    {"random bytes of any size",
     [](uint64_t n) {
       test::Random random(n);
       return random.Key(random.Below(30));
     }},
    {"signed integers",
     [](uint64_t n) {
       const uint64_t half = uint64_t{1} << 63;
       return BigEndianBytes((Mixed(n) % 2 == 0 ? half + n : half - n), 8);
     }},
    {"newest first",
     [](uint64_t n) {
       return "u" + BigEndianBytes(n % 40, 4) + BigEndianBytes(~(n * 997), 8);
     }},
    {"shards, users and times",
     [](uint64_t n) {
       return BigEndianBytes(Mixed(n / 12) % 16, 1) +
              BigEndianBytes(Mixed(n / 12), 8) + BigEndianBytes(n * 60, 5);
     }},
    {"dates as text",
     [](uint64_t n) {
       return "2026-" + Decimal(1 + n / 280 % 12, 2) + "-" +
              Decimal(1 + n / 10 % 28, 2) + "T" + Decimal(n % 10, 2) + ":00:00";
     }},
    {"tuples with escaped zeros",
     [](uint64_t n) {
       std::string key = "\x02";
       for (const char byte : BigEndianBytes(n / 7, 3)) {
         key += byte;
         if (byte == '\0') key += '\xff';
       }
       return key + '\0' + '\x15' + BigEndianBytes(n % 7, 1);
     }},
    {"groups of eight bytes and a mark",
     [](uint64_t n) {
       std::string text = "row" + std::to_string(n / 5);
       std::string key;
       for (; text.size() >= 8; text.erase(0, 8)) {
         key += text.substr(0, 8) + '\xff';
       }
       const auto size = static_cast<char>(0xf7 + text.size());
       text.resize(8);
       return key + text + size + BigEndianBytes(~n, 8);
     }},
    {"sizes before names",
     [](uint64_t n) {
       const std::string name = "name" + std::to_string(Mixed(n / 4) % 5000);
       return BigEndianBytes(name.size(), 4) + name + BigEndianBytes(n, 2);
     }},
    {"namespaces, names and versions of kvrocks",
     [](uint64_t n) {
       const std::string space(n % 2, 'n');
       const std::string name = "name" + std::to_string(Mixed(n / 6) % 5000);
       return BigEndianBytes(space.size(), 1) + space +
              BigEndianBytes(name.size(), 4) + name +
              BigEndianBytes(n / 3 % 2, 8) + std::string(n % 3, 'f');
     }},
    {"up to 23 slashes, also alone and beside each other",
     [](uint64_t n) {
       std::string key;
       uint64_t names = Mixed(n / 96);
       for (uint64_t left = n % 24; left > 0; --left, names /= 3) {
         key += "/";
         if (names % 3 != 0) key += names % 3 == 1 ? "a" : "b\xff";
       }
       return key + std::string(n / 24 % 4, '/');
     }},
    {"hexadecimal hashes",
     [](uint64_t n) {
       char text[32];
       std::snprintf(text, sizeof(text), "%016llx",
                     static_cast<unsigned long long>(Mixed(n)));
       return std::string(text);
     }},
    {"addresses",
     [](uint64_t n) {
       return std::to_string(10 + n % 3) + "." + std::to_string(n / 3 % 256) +
              "." + std::to_string(Mixed(n) % 256) + "." +
              std::to_string(n % 256);
     }},
    {"geohashes",
     [](uint64_t n) {
       std::string key = "geo:";
       uint64_t left = Mixed(n / 20) / 1000 * 20 + n % 20;
       for (int i = 0; i < 9; ++i, left /= 32) {
         key += "0123456789bcdefghjkmnpqrstuvwxyz"[left % 32];
       }
       return key;
     }},
    {"two kinds of keys",
     [](uint64_t n) {
       return n % 2 == 0 ? "a" + BigEndianBytes(n, 8)
                         : "a/" + std::to_string(n) + "/name";
     }},
    {"beyond 128 bytes",
     [](uint64_t n) {
       return std::string(126, 'x') + BigEndianBytes(n / 256, 2) +
              BigEndianBytes(n, 8);
     }},
    {"one byte", [](uint64_t n) { return BigEndianBytes(n % 256, 1); }},
    {"words",
     [](uint64_t n) {
       std::string key;
       for (uint64_t left = Mixed(n) % 100'000; left > 0; left /= 20) {
         key += (key.empty() ? "" : " ") +
                std::string(
                    "ab ba cab dad egg fig gin hat ink jam kin lot "
                    "man nut oak pie qua rye sea tea")
                    .substr(left % 20 * 3, 3);
       }
       return key;
     }},
    {"edges of a graph",
     [](uint64_t n) {
       return "e" + BigEndianBytes(Mixed(n / 9) % 300, 8) + "knows" +
              BigEndianBytes(Mixed(n), 8);
     }},
    {"versions of documents",
     [](uint64_t n) {
       return "doc-" + std::to_string(Mixed(n / 3) % 2000) + "@v" +
              std::to_string(n % 30);
     }},
};

// --- Scans ------------------------------------------------------------------

struct ScanBounds {
  std::string lower;
  std::optional<std::string> upper;
};

// The bounds of all keys that begin with `prefix`.
inline ScanBounds BoundsOfPrefix(const std::string& prefix) {
  std::string after = prefix;
  while (!after.empty() && after.back() == '\xff') after.pop_back();
  if (after.empty()) return {prefix, std::nullopt};
  ++after.back();
  return {prefix, after};
}

// Scans as programs make them, of keys of `shape` with numbers below `numbers`:
// of a prefix, between neighbours, of some numbers in a row, of one key, from a
// key on, and between any two keys, which may be inverted.
inline ScanBounds RandomBounds(const KeyShape& shape, uint64_t numbers,
                               test::Random* random) {
  const uint64_t number = random->Below(numbers);
  const std::string key = shape.key(number);
  switch (random->Below(8)) {
    case 0:
    case 1:
      return BoundsOfPrefix(key.substr(0, random->Below(key.size() + 1)));
    case 2: {
      // The prefix ends with the last byte that is neither a letter nor a
      // digit.
      const size_t end = key.find_last_of("/:!~_-");
      return BoundsOfPrefix(
          key.substr(0, end == std::string::npos ? key.size() : end + 1));
    }
    case 3:
      return {key + '\0', shape.key(number + 1)};
    case 4:
      return {key, shape.key(number + 1 + random->Below(30))};
    case 5:
      return {key, key + '\0'};
    case 6:
      return {key, std::nullopt};
    default:
      return {key, shape.key(random->Below(numbers))};
  }
}

// --- Comparison -------------------------------------------------------------

// The way in which ExpectSameMoves moves and compares.
struct Moves {
  int count = 6;
  bool refresh = false;
  bool forward_only = false;  // as tailing iterators
  // The part of a key that its comparator compares; null: all of it. Which of
  // equal keys RocksDB returns depends on versions that compactions drop.
  std::string (*compared)(std::string_view key) = nullptr;
};

inline std::string StateOf(Iterator* at, const Moves& moves = {}) {
  if (!at->Valid()) return "invalid, " + at->status().ToString();
  const std::string_view key = at->key().ToStringView();
  const std::string shown =
      moves.compared == nullptr ? std::string(key) : moves.compared(key);
  return Slice(shown).ToString(true) + " = " + at->value().ToString();
}

// Adds wide columns to StateOf(); only iterators of databases have them.
inline std::string StateWithColumns(Iterator* at, const Moves& moves) {
  std::string state = StateOf(at, moves);
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 7, 0)
  if (!at->Valid()) return state;
  for (const rocksdb::WideColumn& column : at->columns()) {
    if (column.name().empty()) continue;
    state +=
        ", " + column.name().ToString() + " = " + column.value().ToString();
  }
#endif
  return state;
}

// Moves both iterators in the same random way; they must agree after each move.
// `target`: returns a key to seek to.
template <typename Target>
void ExpectSameMoves(Iterator* scan, Iterator* model, const Moves& moves,
                     test::Random* random, const Target& target) {
  std::string history;
  const auto both = [&](const char* name, const auto& move) {
    move(scan);
    move(model);
    history += std::string(history.empty() ? "" : ", ") + name;
    ASSERT_EQ(StateWithColumns(scan, moves), StateWithColumns(model, moves))
        << "after " << history;
  };
  const bool backward = !moves.forward_only;
  for (int i = 0; i < moves.count && !::testing::Test::HasFailure(); ++i) {
    if (model->Valid() && random->Below(3) != 0) {
      if (random->Below(3) == 0 && backward) {
        both("Prev", [](Iterator* at) { at->Prev(); });
      } else {
        both("Next", [](Iterator* at) { at->Next(); });
      }
      continue;
    }
    const std::string key = target();
    switch (random->Below(moves.refresh ? 7 : 6)) {
      case 0:
      case 1:
        both("SeekToFirst", [](Iterator* at) { at->SeekToFirst(); });
        break;
      case 2:
        if (backward)
          both("SeekToLast", [](Iterator* at) { at->SeekToLast(); });
        break;
      case 3:
      case 4:
        both("Seek", [&](Iterator* at) { at->Seek(key); });
        break;
      case 5:
        if (backward) {
          both("SeekForPrev", [&](Iterator* at) { at->SeekForPrev(key); });
        }
        break;
      default:
        both("Refresh", [](Iterator* at) { EXPECT_OK(at->Refresh()); });
    }
  }
}

// RocksDB's own iterator with the same bounds.
class Model {
 public:
  Model(rocksdb::DB* db, ReadOptions options, ColumnFamilyHandle* family,
        const ScanBounds& bounds)
      : bounds_(bounds), lower_(bounds_.lower) {
    options.iterate_lower_bound = &lower_;
    if (bounds_.upper.has_value()) {
      upper_ = *bounds_.upper;
      options.iterate_upper_bound = &upper_;
    }
    iterator_.reset(db->NewIterator(options, family));
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Iterator* get() const { return iterator_.get(); }

 private:
  const ScanBounds bounds_;
  const Slice lower_;
  Slice upper_;
  std::unique_ptr<Iterator> iterator_;
};

inline std::optional<std::string_view> ViewOf(
    const std::optional<std::string>& text) {
  if (!text.has_value()) return std::nullopt;
  return *text;
}

}  // namespace deltabloom::testing
