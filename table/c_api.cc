// The C interface of the core.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "deltabloom/c.h"
#include "deltabloom/filter.h"
#include "deltabloom/range_filter.h"
#include "deltabloom/sizing.h"
#include "util/c_error.h"
#include "util/json.h"
#include "util/version.h"

using deltabloom::internal::CatchForC;
using deltabloom::internal::CopyForC;
using deltabloom::internal::RequireArgument;
using deltabloom::internal::SetError;

struct deltabloom_options_t {
  deltabloom::FilterOptions options;
};

struct deltabloom_builder_t {
  explicit deltabloom_builder_t(const deltabloom::FilterOptions& options)
      : builder(options) {}

  deltabloom::FilterBuilder builder;
  bool broken = false;  // keys were lost
};

struct deltabloom_filter_t {
  deltabloom::Filter filter;
};

struct deltabloom_range_builder_t {
  deltabloom::RangeFilterBuilder builder;
};

struct deltabloom_range_filter_t {
  deltabloom::RangeFilter filter;
};

namespace {

constexpr char kBroken[] =
    "deltabloom: this builder ran out of memory before: destroy it";

// Only no bytes may be null.
std::string_view Bytes(const char* data, size_t size, const char* name) {
  if (size == 0) return {};
  RequireArgument(data, name);
  return {data, size};
}

// A copy of a filter's bytes for the caller.
char* Return(const std::string& filter, size_t* size) {
  char* const copy = CopyForC(filter);
  if (copy == nullptr) throw std::bad_alloc();
  *size = filter.size();
  return copy;
}

bool ParseHash(const char* name, deltabloom::Hash* hash, char** errptr) {
  const std::string_view text = name == nullptr ? "murmurhash2" : name;
  if (text == "murmurhash2") {
    *hash = deltabloom::Hash::kMurmurHash2;
  } else if (text == "leveldb") {
    *hash = deltabloom::Hash::kLevelDB;
  } else {
    SetError(errptr, "deltabloom: hash " + deltabloom::internal::Quote(text) +
                         " is unknown: use murmurhash2 or leveldb");
    return false;
  }
  return true;
}

}  // namespace

extern "C" {

const char* deltabloom_version(void) { return deltabloom::internal::kVersion; }

void deltabloom_free(void* memory) { std::free(memory); }

deltabloom_options_t* deltabloom_options_create(void) {
  return new (std::nothrow) deltabloom_options_t();
}

void deltabloom_options_destroy(deltabloom_options_t* options) {
  delete options;
}

void deltabloom_options_set_bits_per_key(deltabloom_options_t* options,
                                         double bits_per_key) {
  if (options != nullptr) options->options.bits_per_key = bits_per_key;
}

void deltabloom_options_set_layout(deltabloom_options_t* options,
                                   const char* layout, char** errptr) {
  CatchForC(errptr, 0, [&] {
    RequireArgument(options, "options");
    RequireArgument(layout, "layout");
    if (!deltabloom::ParseLayout(layout, &options->options.layout)) {
      SetError(errptr, "deltabloom: layout " +
                           deltabloom::internal::Quote(layout) +
                           " is unknown: use classic, local, compact or auto");
    }
    return 0;
  });
}

void deltabloom_options_set_hash(deltabloom_options_t* options,
                                 const char* hash, char** errptr) {
  CatchForC(errptr, 0, [&] {
    RequireArgument(options, "options");
    ParseHash(hash, &options->options.hash, errptr);
    return 0;
  });
}

void deltabloom_options_set_max_build_bytes(deltabloom_options_t* options,
                                            uint64_t bytes) {
  if (options != nullptr) options->options.max_build_bytes = bytes;
}

deltabloom_builder_t* deltabloom_builder_create(
    const deltabloom_options_t* options, char** errptr) {
  using Builder = deltabloom_builder_t;
  return CatchForC<Builder*>(errptr, nullptr, [&]() -> Builder* {
    const deltabloom::FilterOptions chosen =
        options == nullptr ? deltabloom::FilterOptions() : options->options;
    const std::string problem = chosen.Validate();
    if (problem.empty()) return new Builder(chosen);
    SetError(errptr, "deltabloom: " + problem);
    return nullptr;
  });
}

void deltabloom_builder_destroy(deltabloom_builder_t* builder) {
  delete builder;
}

void deltabloom_builder_add(deltabloom_builder_t* builder, const char* key,
                            size_t length, char** errptr) {
  CatchForC(errptr, 0, [&] {
    RequireArgument(builder, "builder");
    const std::string_view bytes = Bytes(key, length, "key");
    if (builder->broken) throw std::runtime_error(kBroken);
    builder->broken = true;
    builder->builder.AddKey(bytes);
    builder->broken = false;
    return 0;
  });
}

uint64_t deltabloom_builder_keys_added(const deltabloom_builder_t* builder) {
  return builder == nullptr || builder->broken ? 0
                                               : builder->builder.KeysAdded();
}

uint64_t deltabloom_builder_filter_size(const deltabloom_builder_t* builder) {
  return builder == nullptr || builder->broken ? 0
                                               : builder->builder.FilterSize();
}

char* deltabloom_builder_finish(deltabloom_builder_t* builder, size_t* size,
                                char** errptr) {
  return CatchForC<char*>(errptr, nullptr, [&] {
    RequireArgument(size, "size");
    *size = 0;
    RequireArgument(builder, "builder");
    if (builder->broken) throw std::runtime_error(kBroken);
    builder->broken = true;
    std::string filter;
    builder->builder.Finish(&filter);
    char* const bytes = Return(filter, size);
    builder->broken = false;
    return bytes;
  });
}

deltabloom_filter_t* deltabloom_filter_create(const char* bytes, size_t size,
                                              const char* hash, char** errptr) {
  using View = deltabloom_filter_t;
  return CatchForC<View*>(errptr, nullptr, [&]() -> View* {
    deltabloom::Hash chosen;
    if (!ParseHash(hash, &chosen, errptr)) return nullptr;
    return new View{deltabloom::Filter(Bytes(bytes, size, "bytes"), chosen)};
  });
}

void deltabloom_filter_destroy(deltabloom_filter_t* filter) { delete filter; }

unsigned char deltabloom_filter_may_match(const deltabloom_filter_t* filter,
                                          const char* key, size_t length) {
  if (filter == nullptr || (key == nullptr && length != 0)) return 1;
  return filter->filter.MayMatch({key, length}) ? 1 : 0;
}

void deltabloom_filter_may_match_many(const deltabloom_filter_t* filter,
                                      size_t n, const char* const* keys,
                                      const size_t* lengths,
                                      unsigned char* may_match) {
  if (may_match == nullptr) return;
  if (filter == nullptr || keys == nullptr || lengths == nullptr) {
    std::fill_n(may_match, n, static_cast<unsigned char>(1));
    return;
  }
  constexpr size_t kBatch = 32;
  std::array<std::string_view, kBatch> batch;
  std::array<bool, kBatch> answers;
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t count = n - begin < kBatch ? n - begin : kBatch;
    for (size_t i = 0; i < count; ++i) {
      const char* const key = keys[begin + i];
      batch[i] = {key, key == nullptr ? 0 : lengths[begin + i]};
    }
    filter->filter.MayMatch(batch.data(), count, answers.data());
    for (size_t i = 0; i < count; ++i) {
      const bool bad = keys[begin + i] == nullptr && lengths[begin + i] != 0;
      may_match[begin + i] = answers[i] || bad ? 1 : 0;
    }
  }
}

char* deltabloom_filter_describe(const char* bytes, size_t size) {
  return CatchForC<char*>(nullptr, nullptr, [&] {
    return CopyForC(deltabloom::DescribeFilter(Bytes(bytes, size, "bytes")));
  });
}

deltabloom_range_builder_t* deltabloom_range_builder_create(
    double bits_per_key, uint64_t range_length, char** errptr) {
  using Builder = deltabloom_range_builder_t;
  return CatchForC<Builder*>(errptr, nullptr, [&] {
    deltabloom::RangeFilterOptions options;
    options.bits_per_key = bits_per_key;
    options.range_length = range_length;
    const std::string problem = options.Validate();
    if (!problem.empty()) throw std::invalid_argument("deltabloom: " + problem);
    return new Builder{deltabloom::RangeFilterBuilder(options)};
  });
}

void deltabloom_range_builder_destroy(deltabloom_range_builder_t* builder) {
  delete builder;
}

void deltabloom_range_builder_add_question(deltabloom_range_builder_t* builder,
                                           const char* lower,
                                           size_t lower_length,
                                           const char* upper,
                                           size_t upper_length, char** errptr) {
  CatchForC(errptr, 0, [&] {
    RequireArgument(builder, "builder");
    builder->builder.AddQuestion(Bytes(lower, lower_length, "lower"),
                                 Bytes(upper, upper_length, "upper"));
    return 0;
  });
}

void deltabloom_range_builder_add(deltabloom_range_builder_t* builder,
                                  const char* key, size_t length,
                                  char** errptr) {
  CatchForC(errptr, 0, [&] {
    RequireArgument(builder, "builder");
    builder->builder.AddKey(Bytes(key, length, "key"));
    return 0;
  });
}

char* deltabloom_range_builder_finish(deltabloom_range_builder_t* builder,
                                      size_t* size, char** errptr) {
  return CatchForC<char*>(errptr, nullptr, [&]() -> char* {
    RequireArgument(size, "size");
    *size = 0;
    RequireArgument(builder, "builder");
    std::string filter;
    if (builder->builder.Finish(&filter)) return Return(filter, size);
    throw std::runtime_error(
        "deltabloom: no range filter: the keys were not in order, there was "
        "none, or too little memory or too few bits for them");
  });
}

deltabloom_range_filter_t* deltabloom_range_filter_create(const char* bytes,
                                                          size_t size,
                                                          char** errptr) {
  using View = deltabloom_range_filter_t;
  return CatchForC<View*>(errptr, nullptr, [&] {
    return new View{deltabloom::RangeFilter(Bytes(bytes, size, "bytes"))};
  });
}

void deltabloom_range_filter_destroy(deltabloom_range_filter_t* filter) {
  delete filter;
}

unsigned char deltabloom_range_filter_may_match(
    const deltabloom_range_filter_t* filter, const char* lower,
    size_t lower_length, const char* upper, size_t upper_length) {
  if (filter == nullptr || (lower == nullptr && lower_length != 0) ||
      (upper == nullptr && upper_length != 0)) {
    return 1;
  }
  return filter->filter.MayMatch({lower, lower_length}, {upper, upper_length})
             ? 1
             : 0;
}

double deltabloom_bits_per_key_for_rate(double rate) {
  return deltabloom::BitsPerKeyForRate(rate);
}

double deltabloom_rate_for_bits_per_key(double bits_per_key) {
  return deltabloom::RateForBitsPerKey(bits_per_key);
}

void deltabloom_size_for_rate(uint64_t keys, double rate, uint64_t* bits,
                              uint32_t* probes) {
  const deltabloom::BloomSize size = deltabloom::SizeForRate(keys, rate);
  if (bits != nullptr) *bits = size.bits;
  if (probes != nullptr) *probes = size.probes;
}

}  // extern "C"
