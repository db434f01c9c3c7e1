#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "tests/torture/torture.h"

namespace deltabloom::torture {

namespace {

constexpr char kSeparator = '+';  // between the parts of a merged value
constexpr size_t kNumberSize = 16;

// Letters and digits that depend on the seed.
std::string Filling(uint64_t seed, size_t size) {
  bench::MixedNumbers numbers(seed);
  std::string text(size, '\0');
  for (char& letter : text) {
    letter = "abcdefghijklmnopqrstuvwxyz012345"[numbers.Below(32)];
  }
  return text;
}

}  // namespace

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return lower;
}

// "k0012-03abc": the group, the key in it, and 0 to 40 bytes of filling, so
// that the hashes meet all their ranges of key sizes.
std::string KeyText(uint32_t slot, uint32_t key) {
  char text[24];
  std::snprintf(text, sizeof(text), "k%04u-%02u", key / kKeysPerGroup,
                key % kKeysPerGroup);
  const uint64_t seed = bench::Mix((uint64_t{slot} << 32) | key);
  return text + Filling(seed, seed % 41);
}

std::string DrawKeyText(uint32_t slot, uint32_t key,
                        bench::MixedNumbers* numbers) {
  std::string text = KeyText(slot, key);
  if (slot != kFoldedSlot) return text;
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z' && numbers->Below(2) == 0) {
      letter = static_cast<char>(letter - 'a' + 'A');
    }
  }
  return text;
}

std::string AbsentKeyText(uint32_t slot, uint32_t key) {
  return KeyText(slot, key) + "~";
}

bool ParseKey(uint32_t slot, const std::string& text, uint32_t* key) {
  uint32_t group = 0;
  uint32_t member = 0;
  std::sscanf(text.c_str(), "%*c%4u-%2u", &group, &member);
  *key = group * kKeysPerGroup + member;
  return *key < kKeys && Lower(text) == KeyText(slot, *key);
}

std::string ValueText(uint64_t id) {
  char text[kNumberSize + 1];
  std::snprintf(text, sizeof(text), "%016" PRIx64, id);
  const uint64_t seed = bench::Mix(id);
  return text + Filling(seed, seed % 120);
}

std::string Merged(const Value& value, std::string_view operand) {
  if (!value) return std::string(operand);
  return *value + kSeparator + std::string(operand);
}

std::string DescribeValue(const Value& value) {
  if (!value) return "no value";
  std::string text;
  std::istringstream parts(*value);
  for (std::string part; std::getline(parts, part, kSeparator);) {
    const uint64_t id =
        std::strtoull(part.substr(0, kNumberSize).c_str(), nullptr, 16);
    if (!text.empty()) text += " + ";
    text += part == ValueText(id) ? "write " + std::to_string(id)
                                  : "bytes of no write";
  }
  return text;
}

Journal* Journal::Create() {
  void* const memory = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  return new (memory) Journal();
}

void Journal::Clear() {
  for (uint32_t i = 0; i < size(); ++i) new (&records_[i]) Record();
  size_ = 0;
  clock_ = 0;
  failing_ = failed_ = wants_to_die = write_failed = abandoned = false;
  acknowledged = 0;
}

Record* Journal::New() {
  const uint32_t i = size_++;
  if (i < kCapacity) return &records_[i];
  size_ = kCapacity;
  return nullptr;
}

void Journal::End(Record* record, Outcome outcome) {
  record->outcome = outcome;
  record->end = Now();
}

uint32_t Journal::size() const { return std::min(size_.load(), kCapacity); }

void Journal::Fail(const std::string& what) {
  if (failing_.exchange(true)) return;
  failure_[what.copy(failure_, sizeof(failure_) - 1)] = '\0';
  failed_ = true;
}

void Journal::SetStep(const std::string& step) {
  step_[step.copy(step_, sizeof(step_) - 1)] = '\0';
}

void State::Save(const std::string& path) const {
  std::ofstream file(path);
  for (const Values& values : slots) {
    for (const Value& value : values) file << value.value_or("-") << '\n';
  }
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

State State::Load(const std::string& path) {
  State state;
  std::ifstream file(path);
  for (Values& values : state.slots) {
    for (Value& value : values) {
      std::string word;
      if (file >> word && word != "-") value = word;
    }
  }
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return state;
}

Value After(const Value& before, const Record& record) {
  switch (record.kind) {
    case Kind::kPut:
      return ValueText(record.id);
    case Kind::kMerge:
      return Merged(before, ValueText(record.id));
    default:
      return std::nullopt;
  }
}

Model::Model(const State* before, const Journal* journal, Ending ending,
             uint64_t from, uint64_t until)
    : before_(before),
      journal_(journal),
      ending_(ending),
      from_(from),
      until_(until) {
  for (uint32_t i = 0; i < journal_->size(); ++i) {
    const Record& record = journal_->at(i);
    const uint64_t begin = record.begin;
    if (begin == 0 || begin > until_) continue;
    if (record.kind <= Kind::kDeleteRange) {
      const uint32_t end =
          record.kind == Kind::kDeleteRange ? record.key_end : record.key + 1;
      for (uint32_t key = record.key; key < end; ++key) {
        writes_[record.slot][key].push_back(&record);
      }
    }
    if (record.outcome != Outcome::kDone || record.end >= from_) continue;
    if (record.kind == Kind::kSync || record.synced) {
      last_sync_ = std::max(last_sync_, begin);
    } else if (record.kind == Kind::kFlush) {
      last_flush_[record.slot] = std::max(last_flush_[record.slot], begin);
    } else if (record.kind == Kind::kClose) {
      last_close_ = begin;
    }
  }
}

bool Model::MustBeThere(const Record& record) const {
  if (record.outcome != Outcome::kDone || record.end >= from_) return false;
  if (record.stays || record.end < last_flush_[record.slot]) return true;
  // Closing flushes what is in no log; it does not sync the log.
  if (record.no_log) return record.end < last_close_;
  return ending_ == Ending::kKilled || record.synced || record.end < last_sync_;
}

std::string Model::Judge(uint32_t slot, uint32_t key,
                         const Value& found) const {
  std::vector<Value> values = {before_->slots[slot][key]};
  // The values that may be there after the latest write so far. There are
  // several if an ingested file may be missing although later writes are there.
  // RocksDB copies the log of a
  // checkpoint or backup after the list of its files.
  std::vector<Value> last = values;
  std::string writes = "before the cycle " + DescribeValue(values[0]);
  for (const Record* record : writes_[slot][key]) {
    const bool must = MustBeThere(*record);
    const bool undone = record->outcome == Outcome::kUndone;
    writes += "\n  " + DescribeValue(After({}, *record)) +
              (undone ? ", rolled back"
               : must ? ", must be there"
                      : ", may be there");
    if (undone) continue;
    std::vector<Value> next;
    for (const Value& value : last) next.push_back(After(value, *record));
    if (must) values.clear();
    values.insert(values.end(), next.begin(), next.end());
    if (!record->stays || must) last.clear();
    last.insert(last.end(), next.begin(), next.end());
  }
  if (std::count(values.begin(), values.end(), found) != 0) return "";
  std::string text = "key '" + KeyText(slot, key) + "' of slot " +
                     std::to_string(slot) + " has " + DescribeValue(found) +
                     ", and must have ";
  for (const Value& value : values) text += DescribeValue(value) + " or ";
  return text.substr(0, text.size() - 4) + "\n  " + writes;
}

bool Model::MustBeCommitted(uint32_t transaction) const {
  for (uint32_t i = 0; i < journal_->size(); ++i) {
    const Record& record = journal_->at(i);
    if (record.begin != 0 && record.transaction == transaction) {
      return MustBeThere(record);
    }
  }
  return false;
}

}  // namespace deltabloom::torture
