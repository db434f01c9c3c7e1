// Replaces the filters of one table, for deltabloom refilter.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "table/framing.h"
#include "tools/deltabloom/filter_keys.h"
#include "tools/deltabloom/reads.h"
#include "tools/deltabloom/refilter.h"
#include "tools/deltabloom/table_files.h"
#include "tools/deltabloom/verify.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;
using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstPatch;
using internal::SstSource;

// The name of RocksDB's own filters, and of Deltabloom's by default.
constexpr char kFilterName[] = "rocksdb.BuiltinBloomFilter";

// A filter is replaced if that leaves at most this share of its false
// positives.
constexpr double kLeastGain = 0.9;

// --- What replaces a filter.

// The settings for a filter with as many bits per key as `bytes` bytes have,
// and else those of the policy.
internal::BuilderSettings SettingsFor(const internal::PolicyOptions& options,
                                      const RefilterTable& table,
                                      const internal::KeyMapping& mapping,
                                      uint64_t bytes) {
  internal::BuilderSettings settings =
      internal::SettingsFor(options, internal::kMaxMillibits,
                            {table.level, table.bottommost}, mapping);
  settings.detect_corruption = true;  // for MaybePostVerify
  settings.max_filter_bytes = std::min(bytes, settings.max_filter_bytes);
  return settings;
}

// The plan for such a filter; without a layout if there is none.
internal::Plan PlanPart(const internal::BuilderSettings& settings,
                        uint64_t keys) {
  return internal::PlanSealed(settings, std::max<uint64_t>(keys, 1));
}

// Estimates how many of the table's keys are in this many bytes of its filter.
double KeysIn(const RefilterTable& table, uint64_t bytes) {
  return static_cast<double>(table.keys) * static_cast<double>(bytes) /
         static_cast<double>(std::max<uint64_t>(table.filter_bytes, 1));
}

// A filter that is there now, as the policy reads it.
struct OldFilter {
  bool queried;   // not for want of the key transform
  bool has_seed;  // or the options want none
};

OldFilter LookAt(const internal::PolicyOptions& options,
                 std::string_view filter) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  const internal::FilterKind kind = internal::ParseSealed(
      filter, internal::ActiveCpu(), &keys, &parsed, nullptr);
  const bool foreign = kind == internal::FilterKind::kForeign;
  const bool transformed = keys.transformed && !foreign;
  const bool wants_transform = options.key_transform != internal::kNoTransform;
  const bool is_of_transform = options.transform == nullptr ||
                               keys.transform_id == options.transform->id;
  OldFilter old;
  old.queried = transformed == wants_transform && is_of_transform;
  old.has_seed = !options.seeded || (keys.seeded && !foreign);
  return old;
}

// Returns whether a filter of this rate replaces the old one. If the old one
// lacks a seed that is wanted, the new one may match more keys.
bool IsBetter(bool old_has_seed, const std::optional<double>& rate,
              const std::optional<double>& old_rate) {
  const double most = old_has_seed ? 1 : 1 / kLeastGain;
  return rate.value_or(1) < std::min(1.0, most * old_rate.value_or(1));
}

void Decide(bool all_have_seeds, RefilterTable* table) {
  const double least = all_have_seeds ? kLeastGain : 1 / kLeastGain;
  const bool gains = *table->rate_after < 1 &&
                     (!table->rate_before.has_value() ||
                      *table->rate_after <= least * *table->rate_before);
  table->outcome = gains ? Outcome::kPlanned : Outcome::kNoGain;
  if (!gains) table->rate_after = table->rate_before;
}

// Throws what cannot be read. Sets `reason` if the table has to stay.
void PlanTable(const RefilterOptions& options, const SstSource& source,
               RefilterTable* table) {
  if (source.Size() != table->size) {
    Check(source.Name() + ": expected " + std::to_string(table->size) +
          " bytes by the MANIFEST, found " + std::to_string(source.Size()));
  }
  const SstFile file = ReadSst(source);
  table->bytewise = IsBytewise(TextOf(file, "rocksdb.comparator"));
  table->tree_keys = FilterKeysOf(file);
  if (file.filters.empty()) {
    table->reason = "it has no filter, and no room for one";
    table->rate_before = 1;
    return;
  }
  const SstFilter& filter = file.filters[0];
  table->filter_bytes = filter.bytes;
  table->keys = table->tree_keys;
  std::string no_prefixes;
  const FilterContent content = FindContent(file, &no_prefixes);
  RateSum before;
  RateSum after;
  bool all_have_seeds = true;
  internal::HashedKeys hashed;
  hashed.seeded = options.filter.seeded;
  const internal::KeyMapping mapping(options.filter.transform, hashed);
  for (const BlockHandle& handle : FilterBlocks(source, file, filter)) {
    const std::string bytes = ReadBlock(source, file, handle);
    const double keys = KeysIn(*table, handle.size);
    const auto whole_keys = static_cast<uint64_t>(keys + 0.5);
    const OldFilter old = LookAt(options.filter, bytes);
    const auto old_rate =
        old.queried ? RateOfSealedFilter(bytes, whole_keys) : 1;
    before.Add(old_rate, keys);
    const internal::Plan plan = PlanPart(
        SettingsFor(options.filter, *table, mapping, handle.size), whole_keys);
    const std::string kind = KindOfFilter(filter.policy, bytes);
    const std::string new_kind =
        std::string("Deltabloom ") +
        (plan.layout == nullptr ? "none" : plan.layout->name);
    // A partition that is too small for a new filter keeps the old one.
    double new_rate = plan.layout == nullptr ? 1 : internal::PlanRate(plan);
    // The same layout cannot have more bits in the same bytes. If it seems to,
    // the number of keys is overestimated, and the rates are corrected for
    // that.
    if (kind == new_kind && old.queried) {
      const internal::Plan unseeded =
          PlanPart(SettingsFor(options.filter, *table,
                               {options.filter.transform, {}}, handle.size),
                   whole_keys);
      new_rate *= std::max(1.0, old_rate.value_or(1) / PlanRate(unseeded));
    }
    const bool better = IsBetter(old.has_seed, new_rate, old_rate);
    all_have_seeds = all_have_seeds && (old.has_seed || !better);
    after.Add(better ? new_rate : old_rate, keys);
    if (table->before.empty()) {
      table->before = kind;
      table->after = new_kind;
    }
  }
  table->rate_before = before.Rate();
  table->rate_after = after.Rate().value_or(1);
  Decide(all_have_seeds, table);
  // The tables below cannot be replaced, whatever that would gain.
  struct stat status;
  if (::lstat(table->path.c_str(), &status) != 0) {
    Check(table->path + ": cannot be examined: " + std::strerror(errno));
  }
  if (file.filters.size() != 1 || filter.scope == FilterScope::kPerBlock) {
    table->reason = "it has a filter per block";
  } else if (filter.policy != kFilterName) {
    table->reason = "its filter has the name " + filter.policy;
  } else if (table->has_checksum) {
    table->reason =
        "the MANIFEST has a checksum of the file (file_checksum_gen_factory)";
  } else if (!no_prefixes.empty()) {
    table->reason = no_prefixes;
  } else if (std::string problem = content.OrderProblem(filter);
             !problem.empty()) {
    table->reason = problem;
  } else if (!S_ISREG(status.st_mode)) {
    table->reason = "it is a symbolic link";
  } else if (const std::string unknown = UnknownProperty(file);
             !unknown.empty() && !options.untested) {
    table->reason = "it has the property " + unknown +
                    ", which no RocksDB up to 11.12 writes, so that its filter "
                    "may hold other keys or prefixes (--untested)";
  } else {
    table->reason = options.problem;
  }
}

// Builds the new filters from the keys of the table, in which each key is
// found.
class FilterMaker : public FilterKeysVisitor {
 public:
  FilterMaker(const RefilterOptions& options, const RefilterTable& table,
              const SstSource& source, const SstFile& file,
              const std::atomic<bool>& stop)
      : options_(options),
        table_(table),
        source_(source),
        file_(file),
        stop_(stop),
        filters_(std::max<uint64_t>(file.filters[0].partitions, 1)) {
    internal::HashedKeys keys;
    keys.seeded = options_.filter.seeded;
    if (keys.seeded && !internal::RandomSeed(&keys.seed)) {
      Check("the system gives no random bytes for a seed");
    }
    mapping_ = internal::KeyMapping(options_.filter.transform, keys);
  }

  bool GoOn(const BlockHandle& data_block) override {
    if (file_.checksum != internal::ChecksumType::kNone) {
      TakeUnchecked(data_block.offset);
      checked_ =
          data_block.offset + data_block.size + internal::kBlockTrailerSize;
    }
    return !stop_;
  }

  bool Begin(size_t partition, const BlockHandle& handle) override {
    old_ = ReadBlock(source_, file_, handle);
    internal::ReaderSettings reader;
    reader.builtin = builtin_.get();
    reader.transform = options_.filter.transform;
    old_reader_.reset(internal::NewSealedBitsReader(ToSlice(old_), reader));
    if (old_reader_ == nullptr) throw std::bad_alloc();
    partition_ = partition;
    builder_ = std::make_unique<internal::BitsBuilder>(
        SettingsFor(options_.filter, table_, mapping_, handle.size));
    return true;
  }

  void Add(const std::string_view* key,
           const std::string_view* prefix) override {
    constexpr uint64_t kSample = 16;
    if (added_++ % kSample == 0) ExpectInOld({key, prefix});
    if (key != nullptr && prefix != nullptr) {
      builder_->AddKeyAndAlt(ToSlice(*key), ToSlice(*prefix));
    } else {
      builder_->AddKey(ToSlice(key != nullptr ? *key : *prefix));
    }
  }

  void AddNeighbour(std::string_view prefix, bool /*is_there*/) override {
    builder_->AddKey(ToSlice(prefix));
  }

  // A filter that holds no key, or matches more of them, does not replace the
  // old one.
  void End() override {
    const uint64_t keys = builder_->EstimateEntriesAdded();
    std::unique_ptr<const char[]> owner;
    rocksdb::Status status;
    const rocksdb::Slice built = builder_->Finish(&owner, &status);
    // Looks up the hash of each key.
    if (status.ok()) status = builder_->MaybePostVerify(built);
    if (!status.ok()) Check(source_.Name() + ": " + status.ToString());
    const auto weight = static_cast<double>(keys);
    const OldFilter old = LookAt(options_.filter, old_);
    const std::optional<double> old_rate =
        old.queried ? RateOfSealedFilter(old_, keys) : 1;
    keys_ += keys;
    before_.Add(old_rate, weight);
    const std::optional<double> rate =
        RateOfSealedFilter(built.ToStringView(), keys);
    // If memory runs out, a builder makes a filter that matches every key.
    if (keys > 0 && rate.value_or(0) == 1 &&
        PlanPart(SettingsFor(options_.filter, table_, mapping_, old_.size()),
                 keys)
                .layout != nullptr) {
      throw std::bad_alloc();
    }
    if (keys > 0 && IsBetter(old.has_seed, rate, old_rate)) {
      after_.Add(rate, weight);
      all_have_seeds_ = all_have_seeds_ && old.has_seed;
      filters_[partition_] = built.ToString();
      kind_ = KindOfFilter(kFilterName, filters_[partition_]);
    } else {
      after_.Add(old_rate, weight);
    }
    builder_.reset();
  }

  // Sets what is now known of the filters, and decides again.
  void Report(RefilterTable* table) const {
    if (kind_.empty()) {
      table->reason = "no better filter for its keys fits";
      return;
    }
    // 0 in older tables, which do not say it. In filters without whole keys
    // RocksDB before 9.5 also counts an empty prefix, and again the one after
    // it, once in each partition.
    const uint64_t counted = NumberOf(file_, "rocksdb.num.filter_entries");
    std::string ignored;
    const uint64_t empty =
        FindContent(file_, &ignored).whole_keys ? 0 : 2 * filters_.size();
    if (counted > keys_ + empty && !options_.untested) {
      table->reason = "RocksDB counted " + std::to_string(counted) +
                      " keys and prefixes in its filter, and by the rules "
                      "known here it has " +
                      std::to_string(keys_) + " (--untested)";
      return;
    }
    table->keys = keys_;
    table->after = kind_;
    table->rate_before = before_.Rate();
    table->rate_after = after_.Rate().value_or(1);
    Decide(all_have_seeds_, table);
  }

  const std::vector<std::string>& filters() const { return filters_; }

  // The parts of the table, now read to its end, that are not data blocks whose
  // checksums held.
  std::vector<BlockHandle> Unchecked() {
    TakeUnchecked(source_.Size());
    return unchecked_;
  }

  // Returns whether the bytes are those of the filter in which all keys were
  // found, and name the seed and the transform by which the keys were hashed.
  bool IsFilter(size_t partition, std::string_view bytes) const {
    internal::ParsedFilter parsed;
    internal::HashedKeys keys;
    internal::ParseSealed(bytes, internal::ActiveCpu(), &keys, &parsed,
                          nullptr);
    const internal::HashedKeys& wanted = mapping_.keys();
    return bytes == filters_.at(partition) &&
           keys.transformed == wanted.transformed &&
           keys.transform_id == wanted.transform_id &&
           keys.seeded == wanted.seeded &&
           std::memcmp(&keys.seed, &wanted.seed, sizeof(keys.seed)) == 0;
  }

 private:
  // A filter without what a table like this has holds something else: keys
  // without timestamps, say, or prefixes of another extractor of that name.
  void ExpectInOld(std::initializer_list<const std::string_view*> keys) const {
    for (const std::string_view* key : keys) {
      if (key == nullptr || old_reader_->MayMatch(ToSlice(*key))) continue;
      Check(source_.Name() + ": its filter denies what the table has");
    }
  }

  void TakeUnchecked(uint64_t end) {
    if (end > checked_) unchecked_.push_back({checked_, end - checked_});
  }

  const RefilterOptions& options_;
  const RefilterTable& table_;
  const SstSource& source_;
  const SstFile& file_;
  const std::atomic<bool>& stop_;
  internal::KeyMapping mapping_;
  std::vector<std::string> filters_;
  size_t partition_ = 0;
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_{
      rocksdb::NewBloomFilterPolicy(10)};
  std::string old_;  // the filter that is replaced
  std::unique_ptr<rocksdb::FilterBitsReader> old_reader_;
  uint64_t added_ = 0;
  std::unique_ptr<internal::BitsBuilder> builder_;
  uint64_t keys_ = 0;
  RateSum before_;
  RateSum after_;
  bool all_have_seeds_ = true;  // all that are replaced; OldFilter::has_seed
  std::string kind_;
  uint64_t checked_ = 0;  // the end of the last data block
  std::vector<BlockHandle> unchecked_;
};

// --- The new file.

// A file descriptor, which it closes. Negative if the file was not opened.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int fd;
};

// Throws, with the reason in errno, unless it was done. Where no other table
// could be written, either, *stop is set.
void ExpectWritten(bool done, const std::string& path, const std::string& what,
                   std::atomic<bool>* stop) {
  if (done) return;
  const int error = errno;
  *stop = *stop || error == ENOSPC || error == EDQUOT || error == EROFS;
  Check(path + ": " + what + ": " + std::strerror(error));
}

bool WriteAt(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n =
        ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

// Calls fn with the bytes of this part of the file, chunk by chunk.
template <typename Fn>
void ForEachChunk(const SstSource& source, const BlockHandle& part, Fn fn) {
  constexpr uint64_t kChunk = 64 << 10;
  std::string bytes;
  for (uint64_t done = 0; done < part.size; done += bytes.size()) {
    const uint64_t at = part.offset + done;
    bytes.resize(std::min(kChunk, part.size - done));
    Check(source.Read(at, bytes.size(), bytes.data()));
    fn(at, &bytes);
  }
}

// --- Extended attributes, which POSIX ACLs are as well.

// The names of those that the file has. False, with the reason in errno, if
// they cannot be listed.
bool ListAttributes(int fd, std::vector<std::string>* names) {
  std::string list(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, list.data(), list.size());
  if (size < 0) return errno == ENOTSUP;
  list.resize(static_cast<size_t>(size));
  for (size_t at = 0; at < list.size(); at += names->back().size() + 1) {
    names->emplace_back(list.c_str() + at);
  }
  return true;
}

bool GetAttribute(int fd, const std::string& name, std::string* value) {
  value->resize(XATTR_SIZE_MAX);
  const ssize_t size =
      ::fgetxattr(fd, name.c_str(), value->data(), value->size());
  value->resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return size >= 0;
}

// Gives a file the attributes of another one, and takes others that it got
// from its directory. *failed receives the name of the one that cannot be set.
bool CopyAttributes(int from, int to, std::string* failed) {
  std::vector<std::string> wanted;
  std::vector<std::string> there;
  if (!ListAttributes(from, &wanted) || !ListAttributes(to, &there)) {
    return false;
  }
  for (const std::string& name : there) {
    if (std::count(wanted.begin(), wanted.end(), name) > 0) continue;
    *failed = name;
    if (::fremovexattr(to, name.c_str()) != 0) return false;
  }
  for (const std::string& name : wanted) {
    *failed = name;
    std::string value;
    std::string now;
    if (!GetAttribute(from, name, &value)) return false;
    // An attribute that the system sets, such as a label of SELinux, may be
    // right already.
    if (GetAttribute(to, name, &now) && now == value) continue;
    if (::fsetxattr(to, name.c_str(), value.data(), value.size(), 0) != 0) {
      return false;
    }
  }
  return true;
}

// A copy of a table, beside it.
class Copy {
 public:
  // Shares the blocks of the table where the file system can do that. It has
  // the owner, the permissions and the extended attributes of the table.
  Copy(const SstSource& source, std::string path, std::atomic<bool>* stop)
      : path_(std::move(path)),
        stop_(stop),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                     0600)) {
    const Descriptor old(::open(source.Name().c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status;
    struct stat now;
    Expect(old.fd >= 0 && file_.fd >= 0 && ::fstat(old.fd, &status) == 0 &&
           ::fstat(file_.fd, &now) == 0);
    if (::ioctl(file_.fd, FICLONE, old.fd) != 0) {
      // Makes the copy cheaper, where the file system can do it.
      ::fallocate(file_.fd, 0, 0, static_cast<off_t>(source.Size()));
      uint64_t copied = 0;
      ssize_t n;
      do {
        n = ::copy_file_range(old.fd, nullptr, file_.fd, nullptr,
                              size_t{1} << 30, 0);
        copied += static_cast<uint64_t>(std::max<ssize_t>(n, 0));
      } while (n > 0);
      if (copied != source.Size()) {
        ForEachChunk(source, {0, source.Size()},
                     [&](uint64_t at, const std::string* bytes) {
                       Expect(WriteAt(file_.fd, *bytes, at));
                     });
      }
    }
    if (now.st_uid != status.st_uid || now.st_gid != status.st_gid) {
      ExpectWritten(::fchown(file_.fd, status.st_uid, status.st_gid) == 0,
                    path_, "cannot get the owner and group of the table",
                    stop_);
    }
    Expect(::fchmod(file_.fd, status.st_mode & 07777) == 0);
    std::string attribute;
    const bool copied_all = CopyAttributes(old.fd, file_.fd, &attribute);
    ExpectWritten(
        copied_all, path_,
        "cannot get the extended attribute " + attribute + " of the table",
        stop_);
  }

  // Waits until the copy with the patches is on the disk.
  void Write(const std::vector<SstPatch>& patches) {
    for (const SstPatch& patch : patches) {
      Expect(WriteAt(file_.fd, patch.bytes, patch.offset));
    }
    Expect(::fsync(file_.fd) == 0);
  }

 private:
  void Expect(bool done) const {
    ExpectWritten(done, path_, "cannot be written", stop_);
  }

  const std::string path_;
  std::atomic<bool>* const stop_;
  const Descriptor file_;
};

// These parts of the new file must be those of the old one with the patches,
// byte by byte.
void Compare(const SstSource& old, const SstSource& now,
             const std::vector<SstPatch>& patches,
             const std::vector<BlockHandle>& parts) {
  std::string read;
  uint64_t not_compared = 0;  // bytes of the patches
  for (const SstPatch& patch : patches) not_compared += patch.bytes.size();
  const auto compare = [&](uint64_t at, std::string* bytes) {
    for (const SstPatch& patch : patches) {
      const uint64_t start = std::max(at, patch.offset);
      const uint64_t end =
          std::min(at + bytes->size(), patch.offset + patch.bytes.size());
      if (start >= end) continue;
      bytes->replace(start - at, end - start, patch.bytes, start - patch.offset,
                     end - start);
      not_compared -= end - start;
    }
    read.resize(bytes->size());
    Check(now.Read(at, read.size(), read.data()));
    if (read != *bytes) {
      Check(now.Name() + ": reads other bytes than were written, from offset " +
            std::to_string(at));
    }
  };
  for (const BlockHandle& part : parts) ForEachChunk(old, part, compare);
  // This happens with a crafted table whose filter is one of its data blocks.
  if (not_compared != 0) Check(now.Name() + ": has new bytes in data blocks");
}

// Reads the filters of the new file as the database does: each must be the one
// that was made, or the old one.
void VerifyFilters(const SstSource& old, const SstFile& old_file,
                   const SstSource& now, const FilterMaker& maker) {
  const SstFile file = ReadSst(now);
  const auto blocks = FilterBlocks(now, file, file.filters.at(0));
  const auto old_blocks = FilterBlocks(old, old_file, old_file.filters[0]);
  bool good = blocks.size() == old_blocks.size();
  for (size_t i = 0; good && i < blocks.size(); ++i) {
    const std::string bytes = ReadBlock(now, file, blocks[i]);
    good = maker.IsFilter(i, bytes) ||
           bytes == ReadBlock(old, old_file, old_blocks[i]);
  }
  if (!good) Check(now.Name() + ": reads other filters than were written");
}

// Gives the new file the name of the old one.
void Install(const RefilterOptions& options, const std::string& from,
             const fs::path& to, std::atomic<bool>* stop) {
  if (!options.keep_old.empty()) {
    const fs::path kept = fs::path(options.keep_old) / to.filename();
    // A run that was killed may have linked it.
    ExpectWritten((::link(to.c_str(), kept.c_str()) == 0 ||
                   (errno == EEXIST && fs::equivalent(to, kept))) &&
                      SyncDirectory(kept.parent_path()),
                  kept, "cannot be linked to the table", stop);
  }
  ExpectWritten(::rename(from.c_str(), to.c_str()) == 0, to,
                "cannot be replaced", stop);
  // If the directory is not synced, a crash may bring the old file back, which
  // is whole as well.
  ExpectWritten(SyncDirectory(to.parent_path()), to,
                "was replaced, but its directory cannot be synced", stop);
}

// Builds the new filters from the keys in `source`, and reports what they gain.
// Returns whether they are to replace the old ones.
bool Make(const SstSource& source, const SstFile& file, FilterMaker* maker,
          const std::atomic<bool>& stop, RefilterTable* table) {
  std::string no_prefixes;
  uint64_t entries;
  VisitFilterKeys(source, file, file.filters[0],
                  FindContent(file, &no_prefixes), &entries, maker);
  if (stop) return false;
  maker->Report(table);
  return table->reason.empty() && table->outcome == Outcome::kPlanned;
}

// Throws what is wrong with the table. The keys come from the copy, so that its
// data blocks are read back and need no comparison.
void Replace(const RefilterOptions& options, const SstSource& old,
             const std::string& temporary, std::atomic<bool>* stop,
             RefilterTable* table) {
  if (*stop) return;
  const SstFile file = ReadSst(old);
  Copy copy(old, temporary, stop);
  Check(ReadTable(temporary, [&](const SstSource& now) {
    if (now.Size() != old.Size()) Check(now.Name() + ": has another size");
    FilterMaker maker(options, *table, now, file, *stop);
    if (!Make(now, file, &maker, *stop, table)) return;
    std::vector<SstPatch> patches;
    Check(internal::ReplaceFilters(now, file, file.filters[0], maker.filters(),
                                   &patches, &table->reason));
    if (!table->reason.empty()) return;
    copy.Write(patches);
    Compare(old, now, patches, maker.Unchecked());
    VerifyFilters(old, file, now, maker);
    if (*stop) return;
    Install(options, temporary, table->path, stop);
    table->outcome = Outcome::kReplaced;
  }));
}

void Conclude(const std::string& error, RefilterTable* table) {
  if (!error.empty()) {
    // The text is shown with the name of the table, so the reason does not
    // repeat it.
    const std::string path = table->path + ": ";
    const bool is_named = error.compare(0, path.size(), path) == 0;
    table->outcome = Outcome::kFailed;
    table->reason = error.substr(is_named ? path.size() : 0);
  } else if (!table->reason.empty()) {
    table->outcome = Outcome::kLeft;
  }
  const bool better = table->outcome == Outcome::kPlanned ||
                      table->outcome == Outcome::kReplaced;
  if (better) return;
  table->after = table->before;
  table->rate_after = table->rate_before;
}

}  // namespace

void PlanRefilter(const RefilterOptions& options, RefilterTable* table) {
  table->reason.clear();
  table->before.clear();
  Conclude(ReadTable(table->path,
                     [&](const SstSource& source) {
                       PlanTable(options, source, table);
                     }),
           table);
}

void Refilter(const RefilterOptions& options, const std::string& temporary,
              std::atomic<bool>* stop, RefilterTable* table) {
  std::string error = ReadTable(table->path, [&](const SstSource& source) {
    Replace(options, source, temporary, stop, table);
  });
  const size_t named = error.find(temporary);
  if (named != std::string::npos) {
    error.replace(named, temporary.size(), "its copy");
  }
  if (table->outcome != Outcome::kReplaced) ::unlink(temporary.c_str());
  if (table->outcome == Outcome::kPlanned && table->reason.empty()) {
    table->reason = "the run was stopped";
  }
  Conclude(error, table);
}

bool SyncDirectory(const std::string& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  return opened.fd >= 0 && ::fsync(opened.fd) == 0;
}

std::shared_ptr<void> LockDatabase(const std::string& path,
                                   std::string* error) {
  const std::string name = path + "/LOCK";
  struct stat status_before;
  const bool is_new = ::lstat(name.c_str(), &status_before) != 0;
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = rocksdb::Env::Default()->LockFile(name, &lock);
  if (!status.ok()) {
    *error = path + ": is open, or cannot be locked: " + status.ToString();
    return nullptr;
  }
  const std::shared_ptr<void> held = {
      lock, [](void* of) {
        rocksdb::Env::Default()->UnlockFile(
            static_cast<rocksdb::FileLock*>(of));
      }};
  // If root made the lock, the owner of the database must be able to open it.
  // Links are not followed: they could lead anywhere.
  struct stat owner;
  if (is_new && ::geteuid() == 0 && ::stat(path.c_str(), &owner) == 0 &&
      ::lchown(name.c_str(), owner.st_uid, owner.st_gid) != 0) {
    *error = name +
             ": cannot get the owner of the directory: " + std::strerror(errno);
    return nullptr;
  }
  return held;
}

}  // namespace deltabloom::tools
