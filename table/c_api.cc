// The C interface of the core.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
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

struct deltabloom_options_t : deltabloom::FilterOptions {};

struct deltabloom_builder_t : deltabloom::FilterBuilder {
  using FilterBuilder::FilterBuilder;
  bool broken = false;  // keys were lost
};

struct deltabloom_filter_t : deltabloom::Filter {
  using Filter::Filter;
};

struct deltabloom_range_builder_t : deltabloom::RangeFilterBuilder {
  using RangeFilterBuilder::RangeFilterBuilder;
};

struct deltabloom_range_filter_t : deltabloom::RangeFilter {
  using RangeFilter::RangeFilter;
};

namespace {

// Returns true unless `data` is null and `size` is not 0.
bool IsLegal(const char* data, size_t size) {
  return data != nullptr || size == 0;
}

std::string_view Bytes(const char* data, size_t size, const char* name) {
  if (!IsLegal(data, size)) RequireArgument(data, name);
  return {data, size};
}

deltabloom::FilterOptions OrDefaults(const deltabloom_options_t* options) {
  if (options == nullptr) return {};
  return *options;
}

deltabloom::Hash ParseHash(const char* name) {
  const std::string_view text = name == nullptr ? "murmurhash2" : name;
  if (text == "murmurhash2") return deltabloom::Hash::kMurmurHash2;
  if (text == "leveldb") return deltabloom::Hash::kLevelDB;
  throw std::invalid_argument("hash " + deltabloom::internal::Quote(text) +
                              " is unknown: use murmurhash2 or leveldb");
}

// Calls change(). If it throws, no later change succeeds.
template <typename Fn>
void Change(deltabloom_builder_t* builder, Fn change) {
  RequireArgument(builder, "builder");
  if (builder->broken) {
    throw std::runtime_error(
        "this builder ran out of memory before: destroy it");
  }
  builder->broken = true;
  change();
  builder->broken = false;
}

char* Copy(const std::string& filter, size_t* size) {
  char* const copy = CopyForC(filter);
  if (copy == nullptr) throw std::bad_alloc();
  *size = filter.size();
  return copy;
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
  if (options != nullptr) options->bits_per_key = bits_per_key;
}

void deltabloom_options_set_layout(deltabloom_options_t* options,
                                   const char* layout, char** errptr) {
  CatchForC(errptr, [&] {
    RequireArgument(options, "options");
    RequireArgument(layout, "layout");
    if (!deltabloom::ParseLayout(layout, &options->layout)) {
      throw std::invalid_argument(
          "layout " + deltabloom::internal::Quote(layout) +
          " is unknown: use classic, local, compact or auto");
    }
  });
}

void deltabloom_options_set_hash(deltabloom_options_t* options,
                                 const char* hash, char** errptr) {
  CatchForC(errptr, [&] {
    RequireArgument(options, "options");
    options->hash = ParseHash(hash);
  });
}

void deltabloom_options_set_max_build_bytes(deltabloom_options_t* options,
                                            uint64_t bytes) {
  if (options != nullptr) options->max_build_bytes = bytes;
}

deltabloom_builder_t* deltabloom_builder_create(
    const deltabloom_options_t* options, char** errptr) {
  return CatchForC(
      errptr, [&] { return new deltabloom_builder_t(OrDefaults(options)); });
}

void deltabloom_builder_destroy(deltabloom_builder_t* builder) {
  delete builder;
}

void deltabloom_builder_add(deltabloom_builder_t* builder, const char* key,
                            size_t length, char** errptr) {
  CatchForC(errptr, [&] {
    const std::string_view bytes = Bytes(key, length, "key");
    Change(builder, [&] { builder->AddKey(bytes); });
  });
}

uint64_t deltabloom_builder_keys_added(const deltabloom_builder_t* builder) {
  return builder == nullptr || builder->broken ? 0 : builder->KeysAdded();
}

uint64_t deltabloom_builder_filter_size(const deltabloom_builder_t* builder) {
  return builder == nullptr || builder->broken ? 0 : builder->FilterSize();
}

char* deltabloom_builder_finish(deltabloom_builder_t* builder, size_t* size,
                                char** errptr) {
  return CatchForC(errptr, [&] {
    RequireArgument(size, "size");
    *size = 0;
    char* bytes = nullptr;
    Change(builder, [&] {
      std::string filter;
      builder->Finish(&filter);
      bytes = Copy(filter, size);
    });
    return bytes;
  });
}

deltabloom_filter_t* deltabloom_filter_create(const char* bytes, size_t size,
                                              const char* hash, char** errptr) {
  return CatchForC(errptr, [&] {
    return new deltabloom_filter_t(Bytes(bytes, size, "bytes"),
                                   ParseHash(hash));
  });
}

void deltabloom_filter_destroy(deltabloom_filter_t* filter) { delete filter; }

unsigned char deltabloom_filter_may_match(const deltabloom_filter_t* filter,
                                          const char* key, size_t length) {
  if (filter == nullptr || !IsLegal(key, length)) return 1;
  return filter->MayMatch({key, length}) ? 1 : 0;
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
  std::string_view batch[kBatch];
  bool answers[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t count = std::min(kBatch, n - begin);
    for (size_t i = 0; i < count; ++i) {
      const char* const key = keys[begin + i];
      batch[i] = {key, key == nullptr ? 0 : lengths[begin + i]};
    }
    filter->MayMatch(batch, count, answers);
    for (size_t i = begin; i < begin + count; ++i) {
      may_match[i] = answers[i - begin] || !IsLegal(keys[i], lengths[i]);
    }
  }
}

char* deltabloom_filter_describe(const char* bytes, size_t size) {
  return CatchForC(nullptr, [&] {
    return CopyForC(deltabloom::DescribeFilter(Bytes(bytes, size, "bytes")));
  });
}

deltabloom_range_builder_t* deltabloom_range_builder_create(
    double bits_per_key, const char* prefixes, char** errptr) {
  return CatchForC(errptr, [&] {
    deltabloom::RangeFilterOptions options;
    options.bits_per_key = bits_per_key;
    if (prefixes != nullptr) options.prefixes = prefixes;
    return new deltabloom_range_builder_t(options);
  });
}

void deltabloom_range_builder_destroy(deltabloom_range_builder_t* builder) {
  delete builder;
}

void deltabloom_range_builder_add(deltabloom_range_builder_t* builder,
                                  const char* key, size_t length,
                                  char** errptr) {
  CatchForC(errptr, [&] {
    RequireArgument(builder, "builder");
    builder->AddKey(Bytes(key, length, "key"));
  });
}

char* deltabloom_range_builder_finish(deltabloom_range_builder_t* builder,
                                      size_t* size, char** errptr) {
  return CatchForC(errptr, [&] {
    RequireArgument(size, "size");
    *size = 0;
    RequireArgument(builder, "builder");
    std::string filter;
    if (builder->Finish(&filter)) return Copy(filter, size);
    throw std::runtime_error(
        "no range filter: the keys were not in order, there was none, no "
        "delimiter for prefixes=auto, or too little memory or too few bits");
  });
}

deltabloom_range_filter_t* deltabloom_range_filter_create(const char* bytes,
                                                          size_t size,
                                                          char** errptr) {
  return CatchForC(errptr, [&] {
    return new deltabloom_range_filter_t(Bytes(bytes, size, "bytes"));
  });
}

void deltabloom_range_filter_destroy(deltabloom_range_filter_t* filter) {
  delete filter;
}

unsigned char deltabloom_range_filter_may_match(
    const deltabloom_range_filter_t* filter, const char* lower,
    size_t lower_length, const char* upper, size_t upper_length) {
  if (filter == nullptr || !IsLegal(lower, lower_length) ||
      !IsLegal(upper, upper_length)) {
    return 1;
  }
  std::optional<std::string_view> end;
  if (upper != nullptr) end.emplace(upper, upper_length);
  return filter->MayMatch({lower, lower_length}, end) ? 1 : 0;
}

double deltabloom_options_bits_per_key_for_rate(
    const deltabloom_options_t* options, double rate, uint64_t keys) {
  return deltabloom::BitsPerKeyForRate(OrDefaults(options).layout, rate, keys);
}

double deltabloom_options_false_positive_rate(
    const deltabloom_options_t* options, uint64_t keys) {
  const deltabloom::FilterOptions filter = OrDefaults(options);
  return deltabloom::RateForBitsPerKey(filter.layout, filter.bits_per_key,
                                       keys);
}

void deltabloom_size_for_rate(uint64_t keys, double rate, uint64_t* bits,
                              uint32_t* probes) {
  const deltabloom::BloomSize size = deltabloom::SizeForRate(keys, rate);
  if (bits != nullptr) *bits = size.bits;
  if (probes != nullptr) *probes = size.probes;
}

}  // extern "C"
