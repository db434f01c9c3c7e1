#include "db_bench_ext/torture/model.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace deltabloom::torture {

namespace {

bool IsWrite(Kind kind) {
  return kind == Kind::kPut || kind == Kind::kDelete || kind == Kind::kMerge ||
         kind == Kind::kDeleteRange;
}

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kPut:
      return "put";
    case Kind::kDelete:
      return "delete";
    case Kind::kMerge:
      return "merge";
    case Kind::kDeleteRange:
      return "range delete";
    default:
      return "";
  }
}

std::string Describe(const Record& record, bool must) {
  std::string text = std::string(KindName(record.kind)) + " as write " +
                     std::to_string(record.id) + ", " +
                     (record.end == 0                      ? "in flight"
                      : record.outcome == Outcome::kUndone ? "rolled back"
                                                           : "acknowledged");
  if (record.synced) text += ", synced";
  if (record.no_log) text += ", not logged";
  if (record.stays) text += ", ingested";
  if (record.transaction != 0) {
    text += ", transaction " + std::to_string(record.transaction);
  }
  if (record.outcome == Outcome::kUndone) return text + ": must not be there";
  return text + (must ? ": must be there" : ": may be there");
}

}  // namespace

void State::Save(const std::string& path) const {
  std::ofstream file(path + ".new", std::ios::binary | std::ios::trunc);
  for (const SlotState& slot : slots) {
    file << slot.exists << ' ' << slot.generation << '\n';
    for (const Value& value : slot.values) {
      file << (value ? "=" + *value : std::string("-")) << '\n';
    }
  }
  file.close();
  if (!file || std::rename((path + ".new").c_str(), path.c_str()) != 0) {
    throw std::runtime_error(path + ": cannot be written");
  }
}

State State::Load(const std::string& path) {
  State state;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  for (SlotState& slot : state.slots) {
    std::getline(file, line);
    std::istringstream(line) >> slot.exists >> slot.generation;
    for (Value& value : slot.values) {
      if (!std::getline(file, line)) {
        throw std::runtime_error(path + ": cannot be read");
      }
      if (line[0] == '=') value = line.substr(1);
    }
  }
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
  for (auto& keys : by_key_) keys.resize(kKeys);
  for (uint32_t i = 0; i < journal_->size(); ++i) {
    const Record& record = journal_->at(i);
    const uint64_t begin = record.begin;
    if (begin == 0 || begin > until_) continue;
    const bool done = record.outcome == Outcome::kDone && record.end < from_;
    if (IsWrite(record.kind)) {
      const uint32_t end =
          record.kind == Kind::kDeleteRange ? record.key_end : record.key + 1;
      for (uint32_t key = record.key; key < end; ++key) {
        by_key_[record.slot][key].push_back(&record);
      }
    }
    if (!done) continue;
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

std::string Model::JudgeSlot(uint32_t slot, bool exists,
                             uint32_t generation) const {
  // What it may be: the state before a change that was in flight, and after.
  bool was = before_->slots[slot].exists;
  uint32_t was_generation = before_->slots[slot].generation;
  bool fits = was == exists && (!exists || was_generation == generation);
  for (uint32_t i = 0; i < journal_->size(); ++i) {
    const Record& record = journal_->at(i);
    const bool drop = record.kind == Kind::kDropFamily;
    if ((!drop && record.kind != Kind::kCreateFamily) || record.slot != slot ||
        record.begin == 0 || record.begin > until_) {
      continue;
    }
    was = !drop;
    was_generation = record.generation;
    if (record.outcome == Outcome::kDone && record.end < from_) fits = false;
    fits |= was == exists && (!exists || was_generation == generation);
  }
  if (fits) return "";
  return "the column family of slot " + std::to_string(slot) + " must be " +
         (was ? FamilyName(slot, was_generation) : "dropped") +
         ", and the database has " +
         (exists ? FamilyName(slot, generation) : "none");
}

std::vector<Value> Model::MayHave(uint32_t slot, uint32_t generation,
                                  uint32_t key,
                                  std::vector<Step>* steps) const {
  const SlotState& before = before_->slots[slot];
  const bool same = before.exists && before.generation == generation;
  std::vector<Value> values = {same ? before.values[key] : std::nullopt};
  // Of the last change in front of a record: more than one behind an ingested
  // file that may be missing while later writes are there. RocksDB copies the
  // log of a checkpoint or backup after the list of its files.
  std::vector<Value> last = values;
  for (const Record* record : by_key_[slot][key]) {
    if (record->generation != generation) continue;
    if (record->outcome == Outcome::kUndone) {
      if (steps != nullptr) steps->push_back({record, false});
      continue;
    }
    const bool must = MustBeThere(*record);
    std::vector<Value> next;
    for (const Value& value : last) next.push_back(After(value, *record));
    if (must) values.clear();
    values.insert(values.end(), next.begin(), next.end());
    if (record->stays && !must) {
      last.insert(last.end(), next.begin(), next.end());
    } else {
      last = std::move(next);
    }
    if (steps != nullptr) steps->push_back({record, must});
  }
  return values;
}

std::string Model::Judge(uint32_t slot, uint32_t generation, uint32_t key,
                         const Value& found) const {
  const std::vector<Value> may = MayHave(slot, generation, key, nullptr);
  if (std::find(may.begin(), may.end(), found) != may.end()) return "";
  std::vector<Step> steps;
  MayHave(slot, generation, key, &steps);
  std::string text = "key '" + KeyText(slot, key) + "' (number " +
                     std::to_string(key) + ") of " +
                     FamilyName(slot, generation) + " has " +
                     DescribeValue(found) + ", and must have ";
  for (size_t i = 0; i < may.size(); ++i) {
    if (i > 0) text += " or ";
    text += DescribeValue(may[i]);
  }
  const SlotState& before = before_->slots[slot];
  const bool same = before.exists && before.generation == generation;
  text += "\n  before the cycle: " +
          DescribeValue(same ? before.values[key] : std::nullopt);
  for (const Step& step : steps) {
    text += "\n  " + Describe(*step.record, step.must);
  }
  return text;
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
