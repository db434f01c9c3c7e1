#include "db_bench_ext/torture/reader.h"

#include <algorithm>
#include <memory>

namespace deltabloom::torture {

using rocksdb::Iterator;
using rocksdb::PinnableSlice;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr size_t kBatch = 50;

}  // namespace

Reader::Reader(Database* database, Totals* totals, uint64_t seed,
               bool errors_allowed)
    : database_(database),
      totals_(totals),
      numbers_(seed),
      errors_allowed_(errors_allowed) {}

std::string Reader::Text(uint32_t slot, uint32_t key) {
  std::string text = KeyText(slot, key);
  if (slot != kFoldedSlot) return text;
  return WithCapitals(std::move(text), numbers_.Next());
}

std::string Reader::Compare(const char* by, uint32_t slot, uint32_t key,
                            const Status& status, const std::string& found,
                            const Value& expected) {
  ++lookups_;
  Value value;
  if (status.ok()) {
    value = found;
  } else if (!status.IsNotFound()) {
    ++errors_;
    if (errors_allowed_) return "";
    return std::string(by) + " of key '" + KeyText(slot, key) + "' of slot " +
           std::to_string(slot) + " fails: " + status.ToString();
  }
  if (value == expected) return "";
  return std::string(by) + " of key '" + KeyText(slot, key) + "' (number " +
         std::to_string(key) + ") of slot " + std::to_string(slot) + " finds " +
         DescribeValue(value) + ", and an iterator found " +
         DescribeValue(expected);
}

std::string Reader::CompareAbsent(const char* by, uint32_t slot, uint32_t key,
                                  const Status& status) {
  ++lookups_;
  if (status.IsNotFound()) return "";
  ++errors_;
  if (errors_allowed_ && !status.ok()) return "";
  return std::string(by) + " of key '" + AbsentKeyText(slot, key) +
         "', which nobody wrote, says " + status.ToString();
}

std::string Reader::Scan(uint32_t slot, std::vector<Value>* values) {
  values->assign(kKeys, std::nullopt);
  ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  const std::string where = "an iterator over slot " + std::to_string(slot);
  int64_t last = -1;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    uint32_t key = 0;
    const std::string text = iterator->key().ToString();
    if (!ParseKey(slot, text, &key) || int64_t{key} <= last) {
      return where + " comes to '" + text + "', which " +
             (int64_t{key} <= last ? "is out of order" : "nobody wrote");
    }
    last = key;
    (*values)[key] = iterator->value().ToString();
    ++totals_->entries_iterated;
  }
  if (iterator->status().ok()) return "";
  return where + " fails: " + iterator->status().ToString();
}

std::string Reader::Get(uint32_t slot, const std::vector<uint32_t>& keys,
                        const std::vector<Value>& values) {
  rocksdb::ColumnFamilyHandle* const family = database_->family(slot).handle;
  for (const uint32_t key : keys) {
    PinnableSlice value;
    Status status =
        database_->db()->Get(ReadOptions(), family, Text(slot, key), &value);
    std::string problem =
        Compare("Get", slot, key, status, value.ToString(), values[key]);
    if (!problem.empty()) return problem;
    if (key % 4 != 0) continue;
    value.Reset();
    status = database_->db()->Get(ReadOptions(), family,
                                  AbsentKeyText(slot, key), &value);
    problem = CompareAbsent("Get", slot, key, status);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::vector<Status> Reader::GetMany(rocksdb::ColumnFamilyHandle* family,
                                    const std::vector<Slice>& keys,
                                    std::vector<std::string>* values) {
  rocksdb::DB* const db = database_->db();
  const size_t n = keys.size();
  // The newer call shows prepared writes that are not committed (seen in
  // RocksDB 7.8).
  if (database_->engine() == Engine::kWritePrepared) {
    return db->MultiGet(ReadOptions(), std::vector(n, family), keys, values);
  }
  std::vector<PinnableSlice> found(n);
  std::vector<Status> statuses(n);
  db->MultiGet(ReadOptions(), family, n, keys.data(), found.data(),
               statuses.data());
  for (const PinnableSlice& value : found) values->push_back(value.ToString());
  return statuses;
}

std::string Reader::MultiGet(uint32_t slot, const std::vector<uint32_t>& keys,
                             const std::vector<Value>& values) {
  rocksdb::ColumnFamilyHandle* const family = database_->family(slot).handle;
  for (size_t begin = 0; begin < keys.size();) {
    const size_t n =
        std::min<size_t>(keys.size() - begin, 1 + numbers_.Below(kBatch));
    // Every third key is one that is not there.
    std::vector<std::string> texts;
    std::vector<Slice> slices;
    for (size_t i = 0; i < n; ++i) {
      texts.push_back(Text(slot, keys[begin + i]));
      if (i % 3 == 0) texts.push_back(AbsentKeyText(slot, keys[begin + i]));
    }
    slices.assign(texts.begin(), texts.end());
    std::vector<std::string> found;
    const std::vector<Status> statuses = GetMany(family, slices, &found);
    size_t at = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint32_t key = keys[begin + i];
      std::string problem =
          Compare("MultiGet", slot, key, statuses[at], found[at], values[key]);
      ++at;
      if (problem.empty() && i % 3 == 0) {
        problem = CompareAbsent("MultiGet", slot, key, statuses[at++]);
      }
      if (!problem.empty()) return problem;
    }
    begin += n;
  }
  return "";
}

std::string Reader::IterateGroup(uint32_t slot, uint32_t key,
                                 const std::vector<Value>& values) {
  const uint32_t first = key / kKeysPerGroup * kKeysPerGroup;
  const std::string prefix = Text(slot, first).substr(0, kPrefixSize);
  ReadOptions options;
  // Seeks of a part of a prefix need the other mode; whole ones take either.
  options.auto_prefix_mode = numbers_.Below(2) == 0;
  const std::string bound = KeyText(slot, first).substr(0, kPrefixSize - 1) +
                            static_cast<char>('-' + 1);
  const Slice upper = bound;
  if (options.auto_prefix_mode || slot == kFoldedSlot) {
    options.iterate_upper_bound = &upper;
  } else {
    options.prefix_same_as_start = true;
  }
  const std::unique_ptr<Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  std::vector<Value> found(kKeysPerGroup);
  ++lookups_;
  for (iterator->Seek(prefix); iterator->Valid(); iterator->Next()) {
    uint32_t at = 0;
    if (!ParseKey(slot, iterator->key().ToStringView(), &at) ||
        at / kKeysPerGroup != key / kKeysPerGroup) {
      // Without a prefix extractor, or with a shorter one, it goes on.
      break;
    }
    found[at - first] = iterator->value().ToString();
    ++totals_->entries_iterated;
  }
  if (!iterator->status().ok()) {
    ++errors_;
    if (errors_allowed_) return "";
    return "an iterator from prefix '" + prefix +
           "' fails: " + iterator->status().ToString();
  }
  for (uint32_t i = 0; i < kKeysPerGroup; ++i) {
    const std::string problem =
        Compare("iteration from its prefix", slot, first + i,
                found[i].has_value() ? Status::OK() : Status::NotFound(),
                found[i].value_or(""), values[first + i]);
    if (!problem.empty()) return problem;
  }
  const std::string problem = IterateRange(slot, key, values);
  return problem.empty() ? IterateOn(slot, key, values) : problem;
}

std::string Reader::IterateRange(uint32_t slot, uint32_t key,
                                 const std::vector<Value>& values) {
  const bool with_first = numbers_.Below(2) == 0;
  const bool with_last = numbers_.Below(2) == 0;
  const uint32_t last = std::min<uint32_t>(
      kKeys - 1, key + static_cast<uint32_t>(numbers_.Below(4)));
  const std::string lower =
      with_first ? KeyText(slot, key) : AbsentKeyText(slot, key);
  const std::string upper =
      with_last ? AbsentKeyText(slot, last) : KeyText(slot, last);
  const Slice bound = upper;
  ReadOptions options;
  options.auto_prefix_mode = true;
  options.iterate_upper_bound = &bound;
  const std::unique_ptr<Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  uint32_t expected = key + (with_first ? 0 : 1);
  const uint32_t end = last + (with_last ? 1 : 0);
  const auto skip_absent = [&] {
    while (expected < end && !values[expected]) ++expected;
  };
  skip_absent();
  for (iterator->Seek(lower); iterator->Valid(); iterator->Next()) {
    uint32_t at = 0;
    if (!ParseKey(slot, iterator->key().ToStringView(), &at) ||
        at != expected || values[at] != iterator->value().ToString()) {
      return "an iterator from '" + lower + "' to '" + upper + "' comes to '" +
             iterator->key().ToString() + "' where key number " +
             std::to_string(expected) + " is next";
    }
    ++totals_->entries_iterated;
    ++expected;
    skip_absent();
  }
  ++lookups_;
  if (!iterator->status().ok()) {
    ++errors_;
    if (errors_allowed_) return "";
    return "an iterator from '" + lower + "' to '" + upper +
           "' fails: " + iterator->status().ToString();
  }
  if (expected >= end) return "";
  return "an iterator from '" + lower + "' to '" + upper +
         "' ends before key number " + std::to_string(expected);
}

std::string Reader::IterateOn(uint32_t slot, uint32_t key,
                              const std::vector<Value>& values) {
  ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<Iterator> iterator(
      database_->db()->NewIterator(options, database_->family(slot).handle));
  const bool forward = numbers_.Below(2) == 0;
  const auto step = [&](int64_t from) {
    do {
      from += forward ? 1 : -1;
    } while (from >= 0 && from < kKeys && !values[static_cast<size_t>(from)]);
    return from;
  };
  int64_t expected = step(int64_t{key} + (forward ? -1 : 1));
  const std::string start = Text(slot, key);
  if (forward) {
    iterator->Seek(start);
  } else {
    iterator->SeekForPrev(start);
  }
  for (int i = 0; i < 20 && iterator->Valid(); ++i) {
    uint32_t at = 0;
    if (!ParseKey(slot, iterator->key().ToStringView(), &at) ||
        int64_t{at} != expected || values[at] != iterator->value().ToString()) {
      return "an iterator from '" + start + "' comes to '" +
             iterator->key().ToString() + "' where key number " +
             std::to_string(expected) + " is next";
    }
    ++totals_->entries_iterated;
    expected = step(expected);
    if (forward) {
      iterator->Next();
    } else {
      iterator->Prev();
    }
  }
  if (!iterator->status().ok()) {
    ++errors_;
    if (errors_allowed_) return "";
    return "an iterator from '" + start +
           "' fails: " + iterator->status().ToString();
  }
  if (!iterator->Valid() && expected >= 0 && expected < kKeys) {
    return "an iterator from '" + start + "' ends before key number " +
           std::to_string(expected);
  }
  return "";
}

}  // namespace deltabloom::torture
