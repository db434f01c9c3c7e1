// The C interface of the core.
#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "deltabloom/c.h"
#include "deltabloom/filter.h"
#include "deltabloom/sizing.h"
#include "util/c_error.h"
#include "util/json.h"
#include "util/version.h"

using deltabloom::internal::CatchForC;
using deltabloom::internal::CopyForC;
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

namespace {

constexpr char kBroken[] =
    "deltabloom: this builder ran out of memory before: destroy it";

std::string_view Bytes(const char* data, size_t size) {
  return size == 0 ? std::string_view() : std::string_view(data, size);
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
  options->options.bits_per_key = bits_per_key;
}

void deltabloom_options_set_layout(deltabloom_options_t* options,
                                   const char* layout, char** errptr) {
  CatchForC(errptr, 0, [&] {
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
    ParseHash(hash, &options->options.hash, errptr);
    return 0;
  });
}

void deltabloom_options_set_max_build_bytes(deltabloom_options_t* options,
                                            uint64_t bytes) {
  options->options.max_build_bytes = bytes;
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
  if (builder->broken) return SetError(errptr, kBroken);
  builder->broken = !CatchForC(errptr, false, [&] {
    builder->builder.AddKey(Bytes(key, length));
    return true;
  });
}

uint64_t deltabloom_builder_keys_added(const deltabloom_builder_t* builder) {
  return builder->broken ? 0 : builder->builder.KeysAdded();
}

uint64_t deltabloom_builder_filter_size(const deltabloom_builder_t* builder) {
  return builder->broken ? 0 : builder->builder.FilterSize();
}

char* deltabloom_builder_finish(deltabloom_builder_t* builder, size_t* size,
                                char** errptr) {
  *size = 0;
  if (builder->broken) {
    SetError(errptr, kBroken);
    return nullptr;
  }
  builder->broken = true;
  return CatchForC<char*>(errptr, nullptr, [&]() -> char* {
    std::string filter;
    builder->builder.Finish(&filter);
    char* const copy = CopyForC(filter);
    if (copy == nullptr) throw std::bad_alloc();
    *size = filter.size();
    builder->broken = false;
    return copy;
  });
}

deltabloom_filter_t* deltabloom_filter_create(const char* bytes, size_t size,
                                              const char* hash, char** errptr) {
  using View = deltabloom_filter_t;
  return CatchForC<View*>(errptr, nullptr, [&]() -> View* {
    deltabloom::Hash chosen;
    if (!ParseHash(hash, &chosen, errptr)) return nullptr;
    return new View{deltabloom::Filter(Bytes(bytes, size), chosen)};
  });
}

void deltabloom_filter_destroy(deltabloom_filter_t* filter) { delete filter; }

unsigned char deltabloom_filter_may_match(const deltabloom_filter_t* filter,
                                          const char* key, size_t length) {
  return filter->filter.MayMatch(Bytes(key, length)) ? 1 : 0;
}

void deltabloom_filter_may_match_many(const deltabloom_filter_t* filter,
                                      size_t n, const char* const* keys,
                                      const size_t* lengths,
                                      unsigned char* may_match) {
  constexpr size_t kBatch = 32;
  std::array<std::string_view, kBatch> batch;
  std::array<bool, kBatch> answers;
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t count = n - begin < kBatch ? n - begin : kBatch;
    for (size_t i = 0; i < count; ++i) {
      batch[i] = Bytes(keys[begin + i], lengths[begin + i]);
    }
    filter->filter.MayMatch(batch.data(), count, answers.data());
    for (size_t i = 0; i < count; ++i) {
      may_match[begin + i] = answers[i] ? 1 : 0;
    }
  }
}

char* deltabloom_filter_describe(const char* bytes, size_t size) {
  return CatchForC<char*>(nullptr, nullptr, [&] {
    return CopyForC(deltabloom::DescribeFilter(Bytes(bytes, size)));
  });
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
  *bits = size.bits;
  *probes = size.probes;
}

}  // extern "C"
