#include "tools/deltabloom/database/manifest.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tools/deltabloom/database/read_file.h"
#include "tools/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::Cursor;

// The header of a record of the log.
constexpr size_t kHeaderSize = 7;
constexpr uint8_t kFull = 1;
constexpr uint8_t kFirst = 2;
constexpr uint8_t kMiddle = 3;
constexpr uint8_t kLast = 4;

// Tags of the fields of a change.
constexpr uint32_t kNextFile = 3;
constexpr uint32_t kCompactCursor = 5;
constexpr uint32_t kDeletedFile = 6;
constexpr uint32_t kNewFile = 7;
constexpr uint32_t kNewFile2 = 100;
constexpr uint32_t kNewFile3 = 102;
constexpr uint32_t kNewFile4 = 103;
constexpr uint32_t kColumnFamily = 200;
constexpr uint32_t kColumnFamilyAdd = 201;
constexpr uint32_t kColumnFamilyDrop = 202;
constexpr uint32_t kBlobFileAddition = 400;
constexpr uint32_t kBlobFileGarbage = 401;
constexpr char kNoStart[] =
    "expected the number of the next file, found none: this is not the start "
    "of a MANIFEST";

// Set in tags whose text may be skipped if they are not known.
constexpr uint32_t kMayBeSkipped = 1 << 13;

bool Text(Cursor* cursor, std::string_view* text) {
  uint32_t size;
  return cursor->Varint32(&size) && cursor->Bytes(size, text);
}

bool Skip(Cursor* cursor, int numbers, int texts) {
  uint64_t number;
  std::string_view text;
  for (; numbers > 0; --numbers) {
    if (!cursor->Varint64(&number)) return false;
  }
  for (; texts > 0; --texts) {
    if (!Text(cursor, &text)) return false;
  }
  return true;
}

// A key with the eight bytes that RocksDB appends, its sequence number and
// kind.
bool TakeKey(Cursor* cursor, std::string* key) {
  constexpr size_t kAppended = 8;
  std::string_view text;
  if (!Text(cursor, &text)) return false;
  *key = text.substr(0, text.size() - std::min(kAppended, text.size()));
  return true;
}

// Pairs of a tag and a text, up to the tag that ends them. Sets *found if one
// has the tag `find` and a text that is not empty.
bool SkipFields(Cursor* cursor, uint32_t end, uint32_t find = 0,
                bool* found = nullptr) {
  for (;;) {
    uint32_t tag;
    std::string_view text;
    if (!cursor->Varint32(&tag)) return false;
    if (tag == end) return true;
    if (!Text(cursor, &text)) return false;
    if (found != nullptr && tag == find && !text.empty()) *found = true;
  }
}

// A single change. It names its column family after its tables.
struct Edit {
  uint32_t family = 0;
  bool has_next_file = false;
  bool dropped = false;
  bool added = false;
  std::string_view name;
  std::vector<uint64_t> deleted;
  std::vector<std::pair<uint64_t, LiveTable>> tables;  // by number
};

bool TakeTable(Cursor* cursor, uint32_t tag, Edit* edit) {
  LiveTable table;
  uint64_t number;
  if (!cursor->Varint32(&table.level) || !cursor->Varint64(&number)) {
    return false;
  }
  if (tag == kDeletedFile) {
    edit->deleted.push_back(number);
    return true;
  }
  constexpr uint32_t kEndOfFields = 1;
  constexpr uint32_t kFileChecksum = 7;
  // The path, of kNewFile3; size; the first and the last key; sequence numbers.
  if (!Skip(cursor, tag == kNewFile3 ? 1 : 0, 0) ||
      !cursor->Varint64(&table.size) || !TakeKey(cursor, &table.first_key) ||
      !TakeKey(cursor, &table.last_key) ||
      (tag != kNewFile && !Skip(cursor, 2, 0)) ||
      (tag == kNewFile4 &&
       !SkipFields(cursor, kEndOfFields, kFileChecksum, &table.has_checksum))) {
    return false;
  }
  edit->tables.emplace_back(number, std::move(table));
  return true;
}

bool TakeTag(Cursor* cursor, uint32_t tag, Edit* edit) {
  constexpr uint32_t kEndOfBlobFields = 0;
  switch (tag) {
    case 1:  // comparator
      return Skip(cursor, 0, 1);
    case 2:    // number of the WAL
    case 4:    // last sequence number
    case 9:    // number of the WAL before
    case 10:   // lowest number of a WAL to keep
    case 203:  // highest column family
    case 300:  // changes that are still to come in this group
      return Skip(cursor, 1, 0);
    case kNextFile:
      edit->has_next_file = true;
      return Skip(cursor, 1, 0);
    case kCompactCursor:
      return Skip(cursor, 1, 1);
    case kDeletedFile:
    case kNewFile:
    case kNewFile2:
    case kNewFile3:
    case kNewFile4:
      return TakeTable(cursor, tag, edit);
    case kColumnFamily:
      return cursor->Varint32(&edit->family);
    case kColumnFamilyAdd:
      edit->added = true;
      return Text(cursor, &edit->name);
    case kColumnFamilyDrop:
      edit->dropped = true;
      return true;
    case kBlobFileAddition:
      return Skip(cursor, 3, 2) && SkipFields(cursor, kEndOfBlobFields);
    case kBlobFileGarbage:
      return Skip(cursor, 3, 0) && SkipFields(cursor, kEndOfBlobFields);
    default:
      return (tag & kMayBeSkipped) != 0 && Skip(cursor, 0, 1);
  }
}

// Sets *name to "MANIFEST-000005", the line in the file CURRENT. Returns what
// is wrong.
std::string CurrentManifest(const std::string& database, std::string* name) {
  constexpr uint64_t kMost = 4096;
  const std::string path = (std::filesystem::path(database) / "CURRENT");
  std::string error = ReadFile(path, kMost, name);
  if (!error.empty()) return error;
  *name = name->substr(0, name->find('\n'));
  constexpr std::string_view kStart = "MANIFEST-";
  const bool good = name->compare(0, kStart.size(), kStart) == 0 &&
                    name->find('/') == std::string::npos &&
                    name->find('\0') == std::string::npos;
  return good ? std::string()
              : path + ": expected the name of a MANIFEST, found none";
}

}  // namespace

bool Manifest::Add(std::string_view block) {
  if (error_.empty()) error_ = TakeBlock(block);
  return error_.empty();
}

std::string Manifest::Error() const {
  if (!error_.empty()) return error_;
  if (is_cut_ || is_open_) {
    return "is cut off within a record, or is being written: open and close "
           "the database first";
  }
  return has_next_file_ ? std::string() : kNoStart;
}

std::string Manifest::TakeBlock(std::string_view block) {
  const bool is_last = block.size() < kBlockSize;
  const bool is_empty = block.empty();
  if (is_cut_ && !is_empty) return "a record ends outside of its block";
  while (block.size() >= kHeaderSize) {
    const uint32_t checksum = internal::LoadFixed32(block.data());
    const size_t size =
        static_cast<unsigned char>(block[4]) |
        static_cast<size_t>(static_cast<unsigned char>(block[5])) << 8;
    const auto type = static_cast<uint8_t>(block[6]);
    is_padded_ = is_padded_ || (type == 0 && size == 0);
    if (is_padded_ && !has_next_file_) return kNoStart;
    if (is_padded_) break;
    if (size > block.size() - kHeaderSize) {
      is_cut_ = true;  // unless another block follows
      return {};
    }
    if (internal::BlockChecksum(internal::ChecksumType::kCrc32c,
                                block.substr(6, 1 + size)) != checksum) {
      return "a record of " + std::to_string(size) +
             " bytes whose checksum does not hold";
    }
    std::string error = Record(type, block.substr(kHeaderSize, size));
    if (!error.empty()) return error;
    block.remove_prefix(kHeaderSize + size);
  }
  // The last bytes of a block are zeros where no header fits, and so is what
  // the file system has allocated in advance.
  if (block.find_first_not_of('\0') != std::string_view::npos) {
    if (is_last && !is_padded_) {
      is_cut_ = true;
      return {};
    }
    return "expected zeros, found other bytes after the last record";
  }
  return {};
}

std::string Manifest::Record(uint8_t type, std::string_view payload) {
  if (type < kFull || type > kLast) {
    return "a record of type " + std::to_string(type) + " is not known";
  }
  const bool starts = type == kFull || type == kFirst;
  if (starts == is_open_) {
    return starts ? "a record starts before the end of the one before"
                  : "a part of a record without its start";
  }
  is_open_ = type == kFirst || type == kMiddle;
  if (type == kFull) return Apply(payload);
  record_ += payload;
  if (is_open_) return {};
  const std::string edit = std::move(record_);
  record_.clear();
  return Apply(edit);
}

std::string Manifest::Apply(std::string_view bytes) {
  Cursor cursor(bytes);
  Edit edit;
  while (cursor.Left() > 0) {
    uint32_t tag = 0;
    if (!cursor.Varint32(&tag) || !TakeTag(&cursor, tag, &edit)) {
      return "a change with the tag " + std::to_string(tag) + " is not known";
    }
  }
  has_next_file_ = has_next_file_ || edit.has_next_file;
  if (edit.added) families_[edit.family] = edit.name;
  for (const uint64_t number : edit.deleted) tables_.erase(number);
  for (auto& [number, table] : edit.tables) {
    table.family = edit.family;
    tables_[number] = std::move(table);
  }
  if (!edit.dropped) return {};
  families_.erase(edit.family);
  for (auto table = tables_.begin(); table != tables_.end();) {
    table = table->second.family == edit.family ? tables_.erase(table)
                                                : std::next(table);
  }
  return {};
}

std::string Manifest::FamilyName(uint32_t family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? std::string() : found->second;
}

namespace {

std::string ReadOnce(const std::string& database, Manifest* manifest) {
  *manifest = Manifest();
  std::string name;
  std::string error = CurrentManifest(database, &name);
  if (!error.empty()) return error;
  const std::string path = std::filesystem::path(database) / name;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  // The size is read once, so bytes that are appended later do not count.
  std::string block;
  for (uint64_t at = 0; at < source->Size(); at += block.size()) {
    block.resize(std::min<uint64_t>(Manifest::kBlockSize, source->Size() - at));
    error = source->Read(at, block.size(), block.data());
    if (!error.empty()) return error;
    if (!manifest->Add(block)) break;
  }
  error = manifest->Error();
  return error.empty() ? error : path + ": " + error;
}

}  // namespace

std::string ReadManifest(const std::string& database, Manifest* manifest) {
  // A running database starts a new one now and then, or is writing it.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    std::string error = ReadOnce(database, manifest);
    if (error.empty() || i == kTries) return error;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace deltabloom::tools
