#include "tools/deltabloom/manifest.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "table/sst/sst.h"
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

// One change: it names its column family after its tables.
struct Edit {
  uint32_t family = 0;
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
      !cursor->Varint64(&table.size) || !Skip(cursor, 0, 2) ||
      (tag != kNewFile && !Skip(cursor, 2, 0)) ||
      (tag == kNewFile4 &&
       !SkipFields(cursor, kEndOfFields, kFileChecksum, &table.has_checksum))) {
    return false;
  }
  edit->tables.emplace_back(number, table);
  return true;
}

bool TakeTag(Cursor* cursor, uint32_t tag, Edit* edit) {
  constexpr uint32_t kEndOfBlobFields = 0;
  switch (tag) {
    case 1:  // comparator
      return Skip(cursor, 0, 1);
    case 2:    // number of the WAL
    case 3:    // next file number
    case 4:    // last sequence number
    case 9:    // number of the WAL before
    case 10:   // lowest number of a WAL to keep
    case 203:  // highest column family
    case 300:  // changes that are still to come in this group
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

// "MANIFEST-000005" in the file CURRENT; else empty, with the reason in errno,
// 0 for other bytes.
std::string CurrentManifest(const std::filesystem::path& database) {
  errno = 0;
  std::ifstream file(database / "CURRENT", std::ios::binary);
  std::string name;
  std::getline(file, name);
  constexpr std::string_view kStart = "MANIFEST-";
  const bool good = name.compare(0, kStart.size(), kStart) == 0 &&
                    name.find('/') == std::string::npos &&
                    name.find('\0') == std::string::npos;
  return good ? name : std::string();
}

}  // namespace

bool Manifest::Add(std::string_view block) {
  const bool is_last = block.size() < kBlockSize;
  while (block.size() >= kHeaderSize) {
    const uint32_t checksum = internal::LoadFixed32(block.data());
    const size_t size =
        static_cast<unsigned char>(block[4]) |
        static_cast<size_t>(static_cast<unsigned char>(block[5])) << 8;
    const auto type = static_cast<uint8_t>(block[6]);
    if (type == 0 && size == 0) return false;  // preallocated
    if (size > block.size() - kHeaderSize ||
        internal::BlockChecksum(internal::ChecksumType::kCrc32c,
                                block.substr(6, 1 + size)) != checksum) {
      is_cut_ = true;
      return false;
    }
    if (!Record(type, block.substr(kHeaderSize, size))) return false;
    is_cut_ = type == kFirst || type == kMiddle;
    block.remove_prefix(kHeaderSize + size);
  }
  is_cut_ = is_cut_ || (is_last && !block.empty());
  return true;
}

bool Manifest::Record(uint8_t type, std::string_view payload) {
  switch (type) {
    case kFull:
      record_.clear();
      return Apply(payload);
    case kFirst:
      record_ = payload;
      return true;
    case kMiddle:
      record_ += payload;
      return true;
    case kLast: {
      record_ += payload;
      const std::string edit = std::move(record_);
      record_.clear();
      return Apply(edit);
    }
    default:
      error_ = "a record of type " + std::to_string(type) + " is not known";
      return false;
  }
}

bool Manifest::Apply(std::string_view bytes) {
  Cursor cursor(bytes);
  Edit edit;
  while (cursor.Left() > 0) {
    uint32_t tag = 0;
    if (!cursor.Varint32(&tag) || !TakeTag(&cursor, tag, &edit)) {
      error_ = "a change with the tag " + std::to_string(tag) + " is not known";
      return false;
    }
  }
  if (edit.added) families_[edit.family] = edit.name;
  for (const uint64_t number : edit.deleted) tables_.erase(number);
  for (auto& [number, table] : edit.tables) {
    table.family = edit.family;
    tables_[number] = table;
  }
  if (!edit.dropped) return true;
  families_.erase(edit.family);
  for (auto table = tables_.begin(); table != tables_.end();) {
    table = table->second.family == edit.family ? tables_.erase(table)
                                                : std::next(table);
  }
  return true;
}

std::string Manifest::FamilyName(uint32_t family) const {
  const auto found = families_.find(family);
  return found == families_.end() ? std::string() : found->second;
}

std::string ReadManifest(const std::string& database, Manifest* manifest) {
  // A running database starts a new one now and then, or is writing it.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    const std::string name = CurrentManifest(database);
    if (name.empty()) {
      return database + ": expected a file CURRENT that names a MANIFEST" +
             (errno == 0 ? "" : std::string(": ") + std::strerror(errno));
    }
    const std::filesystem::path path = std::filesystem::path(database) / name;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      if (i < kTries) continue;
      return path.string() + ": cannot be read: " + std::strerror(errno);
    }
    *manifest = Manifest();
    std::array<char, Manifest::kBlockSize> block;
    do {
      file.read(block.data(), block.size());
    } while (
        manifest->Add({block.data(), static_cast<size_t>(file.gcount())}) &&
        file);
    if (!manifest->error().empty()) {
      return path.string() + ": " + manifest->error();
    }
    if (!manifest->is_cut()) return {};
    if (i == kTries) {
      return path.string() +
             ": is cut off within a record: open and close the database first";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace deltabloom::tools
