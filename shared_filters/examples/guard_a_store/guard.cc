#include "guard.h"

#include <rocksdb/options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "deltabloom/redis_filter.h"

using deltabloom::RedisError;
using deltabloom::RedisFilter;
using deltabloom::RedisStatus;

Guard::Guard(const std::string& path, const deltabloom::RedisOptions& redis,
             const deltabloom::RedisFilterOptions& filter)
    : redis_(redis), options_(filter) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* store = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, &store);
  if (!status.ok()) throw std::runtime_error(path + ": " + status.ToString());
  store_.reset(store);
  const RedisStatus opened =
      RedisFilter::OpenLazily(redis, filter.name, &filter_);
  if (!opened.ok()) throw std::runtime_error(opened.message);
}

Guard::Found Guard::Get(const std::string& id, std::string* value) {
  ++lookups_;
  if (!MayExist(id)) return Found::kNo;
  return Read(id, value);
}

Guard::Claimed Guard::Claim(const std::string& order) {
  const std::lock_guard<std::mutex> lock(
      claims_[std::hash<std::string>()(order) % claims_.size()]);
  ++lookups_;
  std::string value;
  const Found found = Read(order, &value);
  if (found == Found::kError) return Claimed::kError;
  if (found == Found::kYes) return Claimed::kUsed;
  return Put(order, "used") == Stored::kError ? Claimed::kError : Claimed::kNew;
}

// False: the filter knows every id of the store, and not this one.
bool Guard::MayExist(const std::string& id) {
  if (behind_) return true;
  bool may_match = true;
  const RedisStatus status = filter_->Check(id, &may_match);
  if (!status.ok()) ++failed_open_;
  // The bits are lost, or Redis restarted and may lack ids: a rebuild is due.
  if (status.error == RedisError::kMissing ||
      status.error == RedisError::kUnverified) {
    behind_ = true;
  }
  // An add that failed during the check may have been that of this id.
  if (may_match || behind_) return true;
  ++refused_;
  return false;
}

Guard::Found Guard::Read(const std::string& id, std::string* value) {
  ++store_reads_;
  const rocksdb::Status status = store_->Get({}, id, value);
  if (status.ok()) return Found::kYes;
  if (!status.IsNotFound()) return Found::kError;
  ++false_maybes_;
  return Found::kNo;
}

// First the store, then the filter: an id that a rebuild does not find in the
// store is added to the rebuild's bitmap, too. So rebuilds need no `settle`.
Guard::Stored Guard::Put(const std::string& id, const std::string& value) {
  if (!store_->Put({}, id, value).ok()) return Stored::kError;
  if (filter_->Add(id).ok()) return Stored::kYes;
  ++failed_adds_;  // before behind_: Rebuild reads them the other way round
  behind_ = true;
  return Stored::kBehind;
}

std::string Guard::Rebuild() {
  const std::lock_guard<std::mutex> lock(rebuild_mutex_);
  const uint64_t failed_before = failed_adds_;
  std::string error = RebuildFilter();
  if (!error.empty()) {
    ++failed_rebuilds_;
    return error;
  }
  ++rebuilds_;
  behind_ = false;
  // One that failed meanwhile may be missing again.
  if (failed_adds_ != failed_before) behind_ = true;
  return "";
}

std::string Guard::RebuildFilter() {
  // RocksDB lets one process open the store, so another rebuild is a dead one.
  deltabloom::RedisRebuildOptions options;
  options.take_over = true;
  std::unique_ptr<deltabloom::RedisRebuild> rebuild;
  RedisStatus status = filter_->StartRebuild(options, &rebuild);
  if (status.error == RedisError::kMissing) {  // never made, or deleted
    std::unique_ptr<RedisFilter> made;
    status = RedisFilter::Create(redis_, options_, &made);
    if (status.ok() || status.error == RedisError::kExists) {
      status = filter_->StartRebuild(options, &rebuild);
    }
  }
  if (!status.ok()) return status.message;
  const std::unique_ptr<rocksdb::Iterator> all(store_->NewIterator({}));
  for (all->SeekToFirst(); all->Valid(); all->Next()) {
    rebuild->Add({all->key().data(), all->key().size()});
  }
  if (!all->status().ok()) return all->status().ToString();
  return rebuild->Finish().message;
}

GuardStatistics Guard::Statistics() const {
  return {lookups_,     refused_,  store_reads_,     false_maybes_,
          failed_open_, rebuilds_, failed_rebuilds_, behind_};
}
