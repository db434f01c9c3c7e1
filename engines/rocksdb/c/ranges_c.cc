// The functions of deltabloom/c.h for range scans in RocksDB.
//
// Two of RocksDB's C types, which are private to its db/c.cc, begin with the
// C++ object that they wrap: rocksdb_options_t and rocksdb_readoptions_t, read
// in all tags from v7.0.3 to v11.8.1, in 11.9 as developed and in v11.12.0. A
// wrong version of the library is refused before (policy.h), and both are
// checked once more at run time. All else goes through RocksDB's C functions.
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/api/c_calls.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/ranges/collector.h"
#include "rocksdb/c.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "util/c_error.h"

struct deltabloom_rocksdb_ranges_t {
  const std::shared_ptr<deltabloom::RocksDBRanges> ranges;
};

struct deltabloom_rocksdb_iterator_t {
  const std::unique_ptr<rocksdb::Iterator> iterator;
};

namespace deltabloom::internal {
namespace {

using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;

ReadOptions* OptionsIn(rocksdb_readoptions_t* options) {
  return reinterpret_cast<ReadOptions*>(options);
}
const ReadOptions& OptionsIn(const rocksdb_readoptions_t* options) {
  return *reinterpret_cast<const ReadOptions*>(options);
}
rocksdb::Options* OptionsIn(rocksdb_options_t* options) {
  return reinterpret_cast<rocksdb::Options*>(options);
}

using CReadOptions = std::unique_ptr<rocksdb_readoptions_t,
                                     decltype(&rocksdb_readoptions_destroy)>;

// Returns whether RocksDB's C types have the layout that OptionsIn() assumes:
// values set by RocksDB's own C functions must be found at those places.
bool CTypesAreKnown() {
  constexpr size_t kBytes = 12345678;
  const CReadOptions read(rocksdb_readoptions_create(),
                          rocksdb_readoptions_destroy);
  rocksdb_readoptions_set_readahead_size(read.get(), kBytes);
  rocksdb_readoptions_set_fill_cache(read.get(), 0);
  const std::unique_ptr<rocksdb_options_t, decltype(&rocksdb_options_destroy)>
      options(rocksdb_options_create(), rocksdb_options_destroy);
  rocksdb_options_set_write_buffer_size(options.get(), kBytes);
  return OptionsIn(read.get())->readahead_size == kBytes &&
         !OptionsIn(read.get())->fill_cache &&
         OptionsIn(options.get())->write_buffer_size == kBytes;
}

void RequireKnownCTypes() {
  static const bool known = CTypesAreKnown();
  if (!known) {
    Require(
        "the loaded RocksDB library has other C types than its version: use an "
        "unmodified one, or range filters in C++");
  }
}

// An iterator of RocksDB's C interface.
class CIterator final : public rocksdb::Iterator {
 public:
  explicit CIterator(rocksdb_iterator_t* iterator)
      : iterator_(iterator, rocksdb_iter_destroy) {}

  bool Valid() const override { return rocksdb_iter_valid(get()) != 0; }
  void SeekToFirst() override { rocksdb_iter_seek_to_first(get()); }
  void SeekToLast() override { rocksdb_iter_seek_to_last(get()); }
  void Seek(const Slice& key) override {
    rocksdb_iter_seek(get(), key.data(), key.size());
  }
  void SeekForPrev(const Slice& key) override {
    rocksdb_iter_seek_for_prev(get(), key.data(), key.size());
  }
  void Next() override { rocksdb_iter_next(get()); }
  void Prev() override { rocksdb_iter_prev(get()); }
  Slice key() const override { return Part(rocksdb_iter_key); }
  Slice value() const override { return Part(rocksdb_iter_value); }

  // The C interface has the text of a Status only.
  Status status() const override {
    char* text = nullptr;
    rocksdb_iter_get_error(get(), &text);
    const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
    if (text == nullptr) return Status::OK();
    constexpr std::string_view kInvalid = "Invalid argument: ";
    const std::string_view error(text);
    if (error.substr(0, kInvalid.size()) != kInvalid) {
      return Status::Aborted(error);
    }
    return Status::InvalidArgument(error.substr(kInvalid.size()));
  }

 private:
  rocksdb_iterator_t* get() const { return iterator_.get(); }

  template <typename Fn>
  Slice Part(Fn fn) const {
    size_t size = 0;
    const char* const bytes = fn(get(), &size);
    return {bytes, size};
  }

  const std::unique_ptr<rocksdb_iterator_t, decltype(&rocksdb_iter_destroy)>
      iterator_;
};

// `scan` makes a scan of what it gets: a function that makes an iterator of the
// database, and read options.
template <typename Scan>
deltabloom_rocksdb_iterator_t* NewCScan(deltabloom_rocksdb_ranges_t* ranges,
                                        rocksdb_t* db,
                                        const rocksdb_readoptions_t* options,
                                        rocksdb_column_family_handle_t* family,
                                        char** errptr, const Scan& scan) {
  return CatchLine(errptr, [&] {
    RequireGiven(ranges, "ranges");
    RequireGiven(db, "db");
    RequireGiven(options, "options");
    RequireKnownCTypes();
    const auto make = [&](const ReadOptions& with) -> rocksdb::Iterator* {
      const CReadOptions c(rocksdb_readoptions_create(),
                           rocksdb_readoptions_destroy);
      *OptionsIn(c.get()) = with;
      return new CIterator(
          family == nullptr ? rocksdb_create_iterator(db, c.get())
                            : rocksdb_create_iterator_cf(db, c.get(), family));
    };
    return new deltabloom_rocksdb_iterator_t{scan(make, OptionsIn(options))};
  });
}

// Returns a part of what the iterator is at.
const char* PartOf(const Slice& part, size_t* size) {
  *size = part.size();
  return part.data();
}

}  // namespace
}  // namespace deltabloom::internal

using namespace deltabloom::internal;  // NOLINT

extern "C" {

deltabloom_rocksdb_ranges_t* deltabloom_rocksdb_ranges_create(
    const char* options, char** errptr) {
  return CatchLine(errptr, [&] {
    Register();
    std::string error;
    auto ranges = deltabloom::RocksDBRanges::New(
        ParseRangeOptions(options == nullptr ? "" : options), &error);
    if (ranges == nullptr) throw std::runtime_error(error);
    return new deltabloom_rocksdb_ranges_t{std::move(ranges)};
  });
}

void deltabloom_rocksdb_ranges_destroy(deltabloom_rocksdb_ranges_t* ranges) {
  delete ranges;
}

unsigned char deltabloom_rocksdb_ranges_add_to(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_options_t* options,
    char** errptr) {
  return CatchLine(errptr, [&] {
    RequireGiven(ranges, "ranges");
    RequireGiven(options, "options");
    RequireKnownCTypes();
    std::string error;
    if (!ranges->ranges->AddTo(OptionsIn(options), &error)) {
      throw std::runtime_error(error);
    }
    return true;
  });
}

deltabloom_rocksdb_iterator_t* deltabloom_rocksdb_ranges_create_iterator(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* family, const char* lower,
    size_t lower_length, const char* upper, size_t upper_length,
    char** errptr) {
  return NewCScan(ranges, db, options, family, errptr,
                  [&](const auto& make, const ReadOptions& with) {
                    const auto from = BytesOf(lower, lower_length, "lower");
                    std::optional<std::string_view> to =
                        BytesOf(upper, upper_length, "upper");
                    if (upper == nullptr) to.reset();
                    return ranges->ranges->NewIterator(make, with, from, to);
                  });
}

deltabloom_rocksdb_iterator_t* deltabloom_rocksdb_ranges_create_prefix_iterator(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* family, const char* prefix,
    size_t prefix_length, char** errptr) {
  return NewCScan(ranges, db, options, family, errptr,
                  [&](const auto& make, const ReadOptions& with) {
                    return ranges->ranges->NewPrefixIterator(
                        make, with, BytesOf(prefix, prefix_length, "prefix"));
                  });
}

void deltabloom_rocksdb_iterator_destroy(
    deltabloom_rocksdb_iterator_t* iterator) {
  delete iterator;
}
unsigned char deltabloom_rocksdb_iterator_valid(
    const deltabloom_rocksdb_iterator_t* iterator) {
  return iterator->iterator->Valid() ? 1 : 0;
}
void deltabloom_rocksdb_iterator_seek_to_first(
    deltabloom_rocksdb_iterator_t* iterator) {
  iterator->iterator->SeekToFirst();
}
void deltabloom_rocksdb_iterator_seek_to_last(
    deltabloom_rocksdb_iterator_t* iterator) {
  iterator->iterator->SeekToLast();
}
void deltabloom_rocksdb_iterator_seek(deltabloom_rocksdb_iterator_t* iterator,
                                      const char* key, size_t length) {
  iterator->iterator->Seek(Slice(key, length));
}
void deltabloom_rocksdb_iterator_seek_for_prev(
    deltabloom_rocksdb_iterator_t* iterator, const char* key, size_t length) {
  iterator->iterator->SeekForPrev(Slice(key, length));
}
void deltabloom_rocksdb_iterator_next(deltabloom_rocksdb_iterator_t* iterator) {
  iterator->iterator->Next();
}
void deltabloom_rocksdb_iterator_prev(deltabloom_rocksdb_iterator_t* iterator) {
  iterator->iterator->Prev();
}
const char* deltabloom_rocksdb_iterator_key(
    const deltabloom_rocksdb_iterator_t* iterator, size_t* length) {
  return PartOf(iterator->iterator->key(), length);
}
const char* deltabloom_rocksdb_iterator_value(
    const deltabloom_rocksdb_iterator_t* iterator, size_t* length) {
  return PartOf(iterator->iterator->value(), length);
}
void deltabloom_rocksdb_iterator_get_error(
    const deltabloom_rocksdb_iterator_t* iterator, char** errptr) {
  const Status status = iterator->iterator->status();
  if (!status.ok()) SetError(errptr, status.ToString(), {});
}

char* deltabloom_rocksdb_ranges_statistics(
    const deltabloom_rocksdb_ranges_t* ranges, const char* format,
    char** errptr) {
  return CatchLine(errptr, [&] {
    RequireGiven(ranges, "ranges");
    return CopiedAs(format, ranges->ranges->Statistics());
  });
}

}  // extern "C"
