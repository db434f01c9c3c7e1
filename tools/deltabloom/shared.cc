// deltabloom shared: filters in Redis, from a shell.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "deltabloom/guava_filter.h"
#include "deltabloom/redis_filter.h"
#include "tools/deltabloom/program.h"
#include "tools/deltabloom/shared_input.h"

namespace deltabloom::tools {
namespace {

using std::chrono::milliseconds;

// Of all actions together; each sets its own.
struct SharedOptions {
  RedisOptions redis;
  std::string password_file;
  RedisFilterOptions filter;
  bool adopt = false;

  std::string keys_from = "-";
  std::vector<std::string> keys;
  bool null = false;
  std::string only;
  bool fail_closed = false;

  RedisRebuildOptions rebuild;
  bool replace = false;
  std::string to;    // another filter's name
  std::string file;  // of Guava's bytes
};

// The password comes from here, or from a file.
constexpr char kPasswordVariable[] = "DELTABLOOM_REDIS_PASSWORD";

// Each action throws Interrupted if the user interrupts it, RedisFailure, and
// std::runtime_error if a file or a key is wrong.
struct Context {
  const std::string who;  // "deltabloom shared add", in front of errors
  const SharedOptions& options;
  Console* console;
  Interrupt* interrupt;
};

struct RedisFailure : std::runtime_error {
  explicit RedisFailure(const RedisStatus& status)
      : std::runtime_error(status.message), error(status.error) {}
  const RedisError error;
};

void Check(const RedisStatus& status) {
  if (status.error == RedisError::kCancelled) throw Interrupted();
  if (!status.ok()) throw RedisFailure(status);
}

[[noreturn]] void Refuse(const std::string& what, const std::string& why) {
  throw std::runtime_error(what + ": " + why);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

Json InfoAsJson(const RedisFilterInfo& info) {
  const int64_t expires_in_ms = info.expires_in.count();
  return {{"name", info.name},
          {"scheme", info.scheme},
          {"bits", info.bits},
          {"probes", info.probes},
          {"hashes", TextOrNull(Joined(info.hashes))},
          {"doubled_string", info.doubled_string},
          {"adopted", info.adopted},
          {"own_writers_only", info.own_writers_only},
          {"durable", info.durable},
          {"verified", info.verified},
          {"shards", info.shards},
          {"expected_keys", info.expected_keys},
          {"expires_in_ms", expires_in_ms < 0 ? Json() : Json(expires_in_ms)},
          {"rebuilding", info.rebuilding},
          {"rebuilds", info.rebuilds},
          {"stored_bytes", info.stored_bytes},
          {"set_bits", info.set_bits},
          {"occupancy", info.occupancy},
          {"keys_estimate", info.keys_estimate},
          {"false_positive_rate", info.false_positive_rate}};
}

void InfoAsText(const RedisFilterInfo& info, Console* console) {
  const auto line = [console](std::string label, const std::string& value) {
    label.resize(17, ' ');
    console->Line(label + value);
  };
  const auto text = [](uint64_t number) { return std::to_string(number); };
  const bool full = !std::isfinite(info.keys_estimate);
  const double seconds = std::chrono::duration<double>(info.expires_in).count();
  line("name", info.name + (info.adopted ? " (adopted)" : ""));
  line("scheme", info.scheme + (info.hashes.empty() ? "" : " ") +
                     Joined(info.hashes) +
                     (info.doubled_string ? ", the string twice" : ""));
  line("bits", text(info.bits) + ", " + text(info.probes) + " per key");
  if (info.shards > 1) line("shards", text(info.shards));
  line("stored bytes", text(info.stored_bytes));
  line(
      "keys",
      (full
           ? "unknown, as all bits are set"
           : "about " + text(static_cast<uint64_t>(info.keys_estimate + 0.5))) +
          (info.expected_keys == 0 ? ""
                                   : ", made for " + text(info.expected_keys)));
  line("set bits", text(info.set_bits) + " (" + Percent(info.occupancy) + ")");
  line("false positives", Percent(info.false_positive_rate));
  line("expires", seconds < 0 ? "never" : Format("in %.3f s", seconds));
  line("rebuilds", std::to_string(info.rebuilds) +
                       (info.rebuilding ? ", one is running" : ""));
  line("verified", info.verified ? "yes" : "no: " + info.unverified);
}

using FilterPtr = std::unique_ptr<RedisFilter>;

// The filter that the options name: opened, or adopted.
RedisStatus TryToOpen(const SharedOptions& options, FilterPtr* filter) {
  if (!options.adopt) {
    return RedisFilter::Open(options.redis, options.filter.name, filter);
  }
  return RedisFilter::Adopt(options.redis, options.filter, filter);
}

FilterPtr OpenFilter(const SharedOptions& options) {
  FilterPtr filter;
  Check(TryToOpen(options, &filter));
  return filter;
}

RedisFilterInfo InfoOf(RedisFilter* filter) {
  RedisFilterInfo info;
  Check(filter->Info(&info));
  return info;
}

// The name of the filter and the result: members of the document, or a text.
void Report(const Context& context, const Json& members,
            const std::string& text) {
  const std::string& name = context.options.filter.name;
  context.console->Add("name", name);
  context.console->AddAll(members);
  context.console->Line(name + ": " + text);
}

void Report(const Context& context, const std::string& result) {
  Report(context, {{"result", result}}, result);
}

// Progress and interruption for a rebuild.
RedisRebuildOptions RebuildOptions(const Context& context) {
  RedisRebuildOptions options = context.options.rebuild;
  options.progress = [context](uint64_t done, uint64_t all) {
    context.console->ShowProgress(done, all, "bytes",
                                  context.options.filter.name);
  };
  options.cancelled = [context] { return context.interrupt->Came(); };
  return options;
}

void Create(const Context& context) {
  const RedisFilterOptions& options = context.options.filter;
  FilterPtr filter;
  Check(RedisFilter::Create(context.options.redis, options, &filter));
  RedisFilterInfo info;
  const RedisStatus status = filter->Info(&info);
  // A filter to be filled by a rebuild has no bits yet.
  if (!options.filled_by_rebuild || status.error != RedisError::kMissing) {
    Check(status);
  }
  context.console->Add("result", "created");
  context.console->AddAll(InfoAsJson(info));
  context.console->Line(info.name + ": created: " + info.scheme + ", " +
                        std::to_string(info.bits) + " bits, " +
                        std::to_string(info.probes) + " per key");
  if (!info.own_writers_only) {
    context.console->Line(
        "Other programs may write it: a rebuild only adds keys, unless "
        "--writers-stopped is given (see --own-writers-only)");
  }
}

void Info(const Context& context) {
  const RedisFilterInfo info = InfoOf(OpenFilter(context.options).get());
  context.console->AddAll(InfoAsJson(info));
  InfoAsText(info, context.console);
  // With many probes more than half of the bits may be meant to be set.
  const bool overfull =
      info.expected_keys > 0
          ? info.keys_estimate > 1.1 * static_cast<double>(info.expected_keys)
          : info.occupancy > 0.5;
  if (overfull) {
    context.console->Error(context.who + ": " + info.name +
                           ": overfull: rebuild it, or move to a larger one");
  }
}

std::unique_ptr<KeyReader> OpenKeys(const Context& context) {
  const SharedOptions& options = context.options;
  if (!options.keys.empty()) return std::make_unique<KeyReader>(options.keys);
  return std::make_unique<KeyReader>(
      options.keys_from, options.null ? '\0' : '\n', context.interrupt);
}

void ShowKeys(const KeyReader& reader, Console* console) {
  console->ShowProgress(reader.keys(), Console::kUnknown, "keys",
                        reader.name());
}

constexpr size_t kMaxBatch = 1000;

// Calls fn(keys, n) for all keys, at most kMaxBatch at a time.
template <typename Fn>
void ForEachBatch(const Context& context,
                  const std::vector<std::string_view>& keys, Fn fn) {
  for (size_t at = 0; at < keys.size(); at += kMaxBatch) {
    context.interrupt->Check();
    fn(&keys[at], std::min(keys.size() - at, kMaxBatch));
  }
}

// The same for all keys of the reader.
template <typename Fn>
void ForEachBatch(const Context& context, KeyReader* reader, Fn fn) {
  for (;;) {
    const std::vector<std::string_view>& keys = reader->Next();
    if (keys.empty()) return;
    ForEachBatch(context, keys, fn);
    ShowKeys(*reader, context.console);
  }
}

std::string Keys(uint64_t n) { return Count(n, "key", "keys"); }

// Redis is away, or may have lost keys: the keys may match. Other errors are
// the user's: a wrong name, password or scheme.
bool FailsOpen(RedisError error) {
  constexpr RedisError kAll[] = {
      RedisError::kUnavailable, RedisError::kTimeout, RedisError::kCircuitOpen,
      RedisError::kClusterDown, RedisError::kMissing, RedisError::kUnverified,
      RedisError::kWrongSize};
  return std::find(std::begin(kAll), std::end(kAll), error) != std::end(kAll);
}

// Adds the keys. *added and *fresh, those of them that are new, grow as they
// are in. Many keys for the size of the filter go in as one bitmap that is
// merged into the filter's: much faster than a script for each thousand.
RedisStatus AddTogether(const Context& context,
                        const std::vector<std::string_view>& keys,
                        RedisFilter* filter, uint64_t* added, uint64_t* fresh) {
  constexpr size_t kMinKeys = 10000;
  constexpr uint64_t kMaxBytesPerKey = 64;
  RedisRebuildOptions options = RebuildOptions(context);
  options.keep_keys = true;
  RedisFilterInfo info;
  std::string bits;
  std::unique_ptr<RedisRebuild> bulk;
  if (keys.size() >= kMinKeys && filter->Info(&info).ok() &&
      info.stored_bytes / kMaxBytesPerKey <= keys.size() &&
      filter->ReadBits(&bits).ok() &&
      filter->StartRebuild(options, &bulk).ok()) {
    bulk->AddBits(bits);  // they tell which keys are new
    uint64_t set = 0;
    for (const std::string_view key : keys) set += bulk->Add(key) ? 1 : 0;
    const RedisStatus status = bulk->Finish();
    if (status.ok()) {
      *added += keys.size();
      *fresh += set;
    }
    return status;
  }
  RedisStatus status;
  ForEachBatch(context, keys, [&](const std::string_view* some, size_t n) {
    bool is_new[kMaxBatch];
    if (status.ok()) status = filter->Add(some, n, is_new);
    if (status.ok()) {
      *added += n;
      *fresh += static_cast<uint64_t>(std::count(is_new, is_new + n, true));
    }
  });
  return status;
}

void Add(const Context& context) {
  const FilterPtr filter = OpenFilter(context.options);
  const auto reader = OpenKeys(context);
  uint64_t added = 0;
  uint64_t fresh = 0;
  RedisStatus status;
  try {
    while (status.ok()) {
      const auto& keys = reader->Next(milliseconds(1000));
      if (keys.empty()) break;
      status = AddTogether(context, keys, filter.get(), &added, &fresh);
      ShowKeys(*reader, context.console);
    }
  } catch (const std::exception&) {
    context.console->Error(context.who + ": " + Keys(added) +
                           " added; to add them again does no harm");
    throw;
  }
  Report(context, {{"added", added}, {"new", fresh}},
         Keys(added) + " added, " + std::to_string(fresh) + " of them new");
  Check(status);
}

void CheckKeys(const Context& context) {
  const SharedOptions& options = context.options;
  Console* const console = context.console;
  uint64_t checked = 0, absent = 0, failed_open = 0;
  bool noted = false;
  // Says once why keys may match that were not looked up.
  const auto fail_open = [&](const RedisStatus& status, uint64_t keys) {
    if (options.fail_closed || !FailsOpen(status.error)) Check(status);
    if (!noted) {
      console->Error(context.who + ": " + status.message +
                     "; all these keys may match (--fail-closed makes it an "
                     "error)");
    }
    noted = true;
    failed_open += keys;
  };
  const auto show = [&](std::string_view key, bool may_match) {
    if (!options.only.empty() &&
        options.only != (may_match ? "may-match" : "absent")) {
      return;
    }
    const char* const answer = may_match ? "may match" : "absent";
    if (console->is_json()) {
      console->AddElement({{"key", std::string(key)}, {"answer", answer}});
    } else if (!options.only.empty()) {
      console->Raw(key, options.null ? '\0' : '\n');
    } else {
      console->Line((may_match ? "may match  " : "absent     ") +
                    std::string(key));
    }
  };
  FilterPtr filter;
  const RedisStatus opened = TryToOpen(options, &filter);
  if (!opened.ok()) fail_open(opened, 0);
  const auto reader = OpenKeys(context);
  console->StartArray("keys");
  ForEachBatch(
      context, reader.get(), [&](const std::string_view* keys, size_t n) {
        bool may_match[kMaxBatch];
        std::fill_n(may_match, n, true);
        const RedisStatus status =
            filter == nullptr ? opened : filter->Check(keys, n, may_match);
        if (!status.ok()) fail_open(status, n);
        for (size_t i = 0; i < n; ++i) show(keys[i], may_match[i]);
        checked += n;
        absent +=
            static_cast<uint64_t>(std::count(may_match, may_match + n, false));
      });
  console->AddAll(
      {{"checked", checked}, {"absent", absent}, {"failed_open", failed_open}});
  if (options.only.empty() && checked != 1) {
    console->Line(std::to_string(checked) + " keys: " + std::to_string(absent) +
                  " absent, " + std::to_string(checked - absent) +
                  " may match");
  }
}

bool IsEmpty(RedisFilter* filter) {
  RedisFilterInfo info;
  return filter->Info(&info).ok() && info.set_bits == 0;
}

void Move(const Context& context) {
  const std::string& to = context.options.to;
  const FilterPtr filter = OpenFilter(context.options);
  FilterPtr target;
  if (RedisFilter::Open(context.options.redis, to, &target).ok() &&
      IsEmpty(target.get()) && !IsEmpty(filter.get())) {
    Refuse(to, "has no key: fill it before its users come");
  }
  Check(filter->MoveTo(to));
  Report(context, "moved to " + to);
}

void Rebuild(const Context& context) {
  const FilterPtr filter = OpenFilter(context.options);
  const auto reader = OpenKeys(context);
  std::unique_ptr<RedisRebuild> rebuild;
  Check(filter->StartRebuild(RebuildOptions(context), &rebuild));
  ForEachBatch(context, reader.get(),
               [&](const std::string_view* keys, size_t n) {
                 for (size_t i = 0; i < n; ++i) rebuild->Add(keys[i]);
               });
  if (reader->keys() == 0) {
    // What should have written them may have failed.
    Refuse(reader->name(),
           "no key: " + context.options.filter.name + " is unchanged");
  }
  RedisRebuildResult result;
  Check(rebuild->Finish(&result));
  const char* how = result.replaced ? "replaced" : "added to";
  Report(context,
         {{"result", how},
          {"keys", result.keys},
          {"set_bits", result.set_bits},
          {"uploaded_bytes", result.uploaded_bytes},
          {"upload_ms", result.upload_time.count()}},
         how + (": " + Keys(result.keys)) + ", " +
             std::to_string(result.set_bits) + " bits set");
}

// --- Files of Guava's BloomFilter (docs/shared_filters_format.md, chapter
// "Guava"): a header of six bytes, then big-endian words.

constexpr char kGuavaHelper[] = "guava-helper";
constexpr size_t kGuavaHeader = 6;

// The bytes of each word of eight the other way round.
std::string WordsReversed(std::string words) {
  for (char* at = words.data(); at < words.data() + words.size(); at += 8) {
    std::reverse(at, at + 8);
  }
  return words;
}

// "-" is standard input.
std::string ReadWholeFile(const std::string& path) {
  errno = 0;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << (path == "-" ? std::cin : file).rdbuf();
  if (!bytes && errno != 0) throw SystemError(path);  // else it is empty
  return bytes.str();
}

// All or nothing: a temporary file next to it, then a rename; but a pipe, a
// device or a link stays what it is. "-" is standard output.
void WriteWholeFile(const std::string& path, const std::string& bytes,
                    Interrupt* interrupt) {
  errno = 0;
  if (path == "-") {
    interrupt->Release();
    if (std::cout << bytes << std::flush) return;
    throw SystemError("standard output");
  }
  struct stat state = {};
  const bool in_place =
      stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode);
  // Of a link, what it leads to.
  std::error_code ignored;
  const std::string target =
      std::filesystem::weakly_canonical(path, ignored).string();
  const std::string to =
      in_place ? path : target + "." + std::to_string(getpid());
  if (in_place) interrupt->Release();
  errno = 0;
  std::FILE* const file = std::fopen(to.c_str(), in_place ? "wb" : "wbx");
  // One that a killed process left is in the way under its own name.
  if (file == nullptr) throw SystemError(errno == EEXIST ? to : path);
  bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
      std::fflush(file) == 0 && (in_place || fsync(fileno(file)) == 0);
  written = std::fclose(file) == 0 && written;
  if (written && in_place) return;
  if (written && std::rename(to.c_str(), target.c_str()) == 0) return;
  const std::runtime_error error = SystemError(path);
  if (!in_place) unlink(to.c_str());
  throw error;
}

void Export(const Context& context) {
  SharedOptions options = context.options;
  if (options.file == "/dev/stdout") options.file = "-";
  if (options.file == "-" && context.console->is_json()) {
    Check({RedisError::kInvalidArgument, "--json does not go with -"});
  }
  const FilterPtr filter = OpenFilter(options);
  const RedisFilterInfo info = InfoOf(filter.get());
  const char* const why =
      info.scheme != kGuavaHelper ? "only guava-helper has Guava's bits"
      : info.doubled_string       ? "its funnel puts the string twice"
      : info.bits % 64 != 0       ? "Guava's filters have a multiple of 64 bits"
                                  : nullptr;
  if (why != nullptr) {
    Refuse(info.name, "its scheme is " + info.scheme + ", with " +
                          std::to_string(info.bits) + " bits: " + why);
  }
  std::string bits;
  Check(filter->ReadBits(&bits));
  context.interrupt->Check();
  std::string bytes = {static_cast<char>(GuavaStrategy::kMurmur128Mitz32),
                       static_cast<char>(info.probes)};
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(bits.size() / 8 >> shift & 0xff));
  }
  bytes += WordsReversed(bits);
  WriteWholeFile(options.file, bytes, context.interrupt);
  context.console->AddAll({{"name", options.filter.name},
                           {"file", options.file},
                           {"bytes", bytes.size()}});
  if (options.file != "-") {
    context.console->Line(options.file + ": " + std::to_string(bytes.size()) +
                          " bytes of " + options.filter.name);
  }
}

void Import(const Context& context) {
  SharedOptions options = context.options;
  context.interrupt->Release();
  const std::string bytes = ReadWholeFile(options.file);
  context.interrupt->Hold();
  std::string error;
  const auto guava = GuavaFilter::FromBytes(bytes, &error);
  if (guava == nullptr) Refuse(options.file, error);
  if (guava->Strategy() != GuavaStrategy::kMurmur128Mitz32) {
    Refuse(options.file, std::string("its strategy is ") +
                             GuavaStrategyName(guava->Strategy()) +
                             ": bitmaps in Redis have MURMUR128_MITZ_32");
  }
  options.filter.scheme = kGuavaHelper;
  options.filter.bits = guava->Bits();
  options.filter.probes = guava->HashFunctions();
  const std::string invalid = options.filter.Validate();
  if (!invalid.empty()) Refuse(options.file, invalid);

  const std::string size = std::to_string(guava->Bits()) + " bits, " +
                           std::to_string(guava->HashFunctions()) + " per key";
  const bool create = !options.replace && !options.adopt;
  FilterPtr filter;
  if (create) {
    options.filter.filled_by_rebuild = true;
    Check(RedisFilter::Create(options.redis, options.filter, &filter));
  } else {
    filter = OpenFilter(options);
  }
  const RedisFilterInfo info =
      options.replace ? InfoOf(filter.get()) : RedisFilterInfo();
  if (options.replace &&
      (info.scheme != kGuavaHelper || info.doubled_string ||
       info.bits != guava->Bits() || info.probes != guava->HashFunctions())) {
    Refuse(info.name, "its bits are others than those of the file, " + size);
  }
  const uint64_t keys = guava->ApproximateElementCount();
  if (options.replace && keys == 0) {
    Refuse(options.file, "no key: " + info.name + " is unchanged");
  }
  RedisRebuildResult result;
  std::unique_ptr<RedisRebuild> rebuild;
  RedisStatus status = filter->StartRebuild(RebuildOptions(context), &rebuild);
  if (status.ok()) {
    rebuild->AddBits(WordsReversed(bytes.substr(kGuavaHeader)));
    status = rebuild->Finish(&result);
  }
  if (!status.ok() && create) filter->Delete();
  Check(status);
  const char* how = create            ? "created"
                    : result.replaced ? "replaced"
                                      : "added to";
  Report(context,
         {{"result", how},
          {"bits", guava->Bits()},
          {"probes", guava->HashFunctions()},
          {"keys_estimate", keys}},
         how + (": " + size) + ", about " + std::to_string(keys) + " keys");
}

// --- Options.

constexpr char kSizeGroup[] = "Size and scheme";
constexpr char kRedisGroup[] = "Redis";

// Adds options to a group of the help.
class Adder {
 public:
  Adder(CLI::App* app, const char* group) : app_(app), group_(group) {}

  CLI::Option* Flag(const char* name, bool* flag, const std::string& what) {
    return app_->add_flag(name, *flag, what)->group(group_);
  }
  CLI::Option* Duration(const char* name, milliseconds* time,
                        const std::string& what) {
    return AddDuration(app_, name, time, what)->group(group_);
  }
  // An unsigned number is not negative; each use of a list has one value.
  template <typename T>
  CLI::Option* Value(const char* name, T* value, const char* type,
                     const std::string& what) {
    CLI::Option* option = app_->add_option(name, *value, what)
                              ->type_name(type)
                              ->group(group_)
                              ->allow_extra_args(false);
    if constexpr (std::is_integral_v<T>) option->check(NotNegative());
    return option;
  }

 private:
  CLI::App* const app_;
  const char* const group_;
};

void AddRedisOptions(CLI::App* app, SharedOptions* options) {
  RedisOptions* redis = &options->redis;
  redis->connect_timeout = redis->command_timeout = milliseconds(5000);
  Adder add(app, kRedisGroup);
  add.Value("--host", &redis->host, "HOST", "Default: 127.0.0.1");
  add.Value("--port", &redis->port, "PORT", "Default: 6379");
  add.Value("--socket", &redis->unix_socket, "PATH",
            "A Unix socket instead of host and port");
  add.Flag("--cluster", &redis->cluster,
           "A Redis Cluster, of which host and port are one node");
  add.Value("--node", &redis->more_nodes, "HOST:PORT",
            "Another node to ask when that one is away; may be repeated");
  add.Value("--user", &redis->username, "NAME",
            "Default: Redis's default user");
  add.Value("--password-file", &options->password_file, "FILE",
            std::string("The first line of this file is the password, instead "
                        "of the environment variable ") +
                kPasswordVariable);
  add.Value("--db", &redis->database, "N",
            "Number of the database; default: 0");
  add.Duration("--timeout", &redis->command_timeout,
               "The longest that a batch of keys may take; default: 5s. Long "
               "work on the server has 10s at least");
}

void AddSizeOptions(CLI::App* app, SharedOptions* options) {
  RedisFilterOptions* filter = &options->filter;
  Adder add(app, kSizeGroup);
  add.Value("--scheme", &filter->scheme, "NAME",
            "local (default), go-murmur3, go-murmur3-14, guava-helper or "
            "php-named-hashes: whose bits they are");
  add.Value("--keys", &filter->expected_keys, "N",
            "Size it for this many keys, with --rate");
  add.Value("--rate", &filter->false_positive_rate, "P",
            "With --keys: the share of absent keys that may match; default: "
            "0.01");
  add.Value("--bits", &filter->bits, "N", "The size itself, instead of --keys");
  add.Value("--probes", &filter->probes, "N", "Bits per key, with --bits");
  add.Flag("--doubled-string", &filter->doubled_string,
           "guava-helper: the funnel puts the string twice");
  add.Value("--hashes", &filter->hashes, "NAMES",
            "php-named-hashes: of JS, PJW, ELF, BKDR, SDBM, DJB, DEK, FNV, "
            "with commas between; default: BKDR,SDBM,JS")
      ->delimiter(',');
}

void AddAdoptOptions(CLI::App* app, SharedOptions* options) {
  CLI::Option* adopt = app->add_flag(
      "--adopt", options->adopt,
      "NAME is a bitmap that programs in other languages fill: size and "
      "scheme are to be given. Its loss is detected only while no program "
      "writes to it again");
  AddSizeOptions(app, options);
  for (const char* name : {"--scheme", "--keys", "--rate", "--bits", "--probes",
                           "--doubled-string", "--hashes"}) {
    app->get_option(name)->needs(adopt);
  }
}

void AddKeyOptions(CLI::App* app, SharedOptions* options) {
  CLI::Option* file =
      app->add_option("FILE", options->keys_from,
                      "Keys, one per line; default: -, standard input");
  Adder add(app, "Options");
  add.Value("--key", &options->keys, "KEY",
            "This key, instead of a file; may be repeated")
      ->excludes(file);
  add.Flag("-0,--null", &options->null,
           "Keys end with a null byte instead of a line's end");
}

void AddRebuildOptions(CLI::App* app, SharedOptions* options) {
  RedisRebuildOptions* rebuild = &options->rebuild;
  Adder add(app, "Options");
  add.Flag("--writers-stopped", &rebuild->writers_stopped,
           "Replace a bitmap that other programs may write, because none of "
           "them writes to it now. Without this option its keys stay, and the "
           "new ones are added");
  add.Duration("--settle", &rebuild->settle,
               "Wait that long before the first key is read: longer than a "
               "writer takes from adding a key to storing it; default: 0s");
  add.Duration("--lease", &rebuild->lease,
               "How long the temporary bitmap outlives a killed rebuild; "
               "default: 60s");
  add.Flag("--take-over", &rebuild->take_over,
           "Go on although another rebuild seems to run: that one fails");
}

void ReadPassword(SharedOptions* options) {
  std::string* password = &options->redis.password;
  if (options->password_file.empty()) {
    const char* value = std::getenv(kPasswordVariable);
    *password = value == nullptr ? "" : value;
    return;
  }
  std::ifstream file(options->password_file, std::ios::binary);
  if (!std::getline(file, *password)) {
    throw std::runtime_error(options->password_file +
                             ": no password can be read from it");
  }
  if (!password->empty() && password->back() == '\r') password->pop_back();
}

struct Action {
  const char* name;
  const char* summary;
  void (*add_options[3])(CLI::App* app, SharedOptions* options);
  void (*run)(const Context& context);
};

void MoveOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("NEW", options->to, "A filter that holds every key by now")
      ->required();
}

void CreateOptions(CLI::App* app, SharedOptions* options) {
  AddSizeOptions(app, options);
  RedisFilterOptions* filter = &options->filter;
  Adder add(app, kSizeGroup);
  add.Duration("--expire", &filter->expire_after,
               "The filter vanishes that long after its creation; default: "
               "never");
  add.Flag("--filled-by-rebuild", &filter->filled_by_rebuild,
           "Until 'rebuild' has finished, all keys may match and none can be "
           "added: for keys that exist already");
  add.Flag("--own-writers-only", &filter->own_writers_only,
           "Every program that writes the bitmap uses Deltabloom or the "
           "protocol of its adds; else a rebuild without --writers-stopped "
           "keeps all bits. local: as if given");
  add.Flag("--durable", &filter->durable,
           "A restart needs no 'confirm': the server has appendonly yes, "
           "appendfsync always, and rename-command PSYNC \"\" and SYNC \"\"");
  add.Value("--shard-bytes", &filter->shard_bytes, "N",
            "local: cut a larger filter into shards of N bytes; default: "
            "536870912");
}

void CheckOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("--only", options->only,
                  "absent or may-match: print the keys of this answer and "
                  "nothing else, as they were read")
      ->type_name("ANSWER")
      ->check(CLI::IsMember({"absent", "may-match"}));
  app->add_flag("--fail-closed", options->fail_closed,
                "If Redis is away, or may have lost keys: an error, instead "
                "of the answer may match");
}

void ExportOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("FILE", options->file, "Where to; - is standard output")
      ->required();
}

void ImportOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("FILE", options->file,
                  "What BloomFilter.writeTo wrote; - is standard input")
      ->required();
  CLI::Option* adopt =
      app->add_flag("--adopt", options->adopt,
                    "NAME is a bitmap that programs in other languages fill; "
                    "its size is that of FILE");
  app->add_flag("--replace", options->replace,
                "NAME is there already: its keys go and those of FILE come, "
                "while it is read and filled")
      ->excludes(adopt);
}

constexpr Action kActions[] = {
    {"create", "Make a filter", {CreateOptions}, Create},
    {"add", "Add keys", {AddKeyOptions, AddAdoptOptions}, Add},
    {"check",
     "Look up keys",
     {AddKeyOptions, CheckOptions, AddAdoptOptions},
     CheckKeys},
    {"rebuild",
     "Replace all keys by those of a file, while it is used",
     {AddKeyOptions, AddRebuildOptions, AddAdoptOptions},
     Rebuild},
    {"info", "Print size, fill and rate", {AddAdoptOptions}, Info},
    {"confirm",
     "Declare that Redis lost no key in a restart or failover",
     {},
     [](const Context& context) {
       Check(OpenFilter(context.options)->Confirm());
       Report(context, "confirmed");
     }},
    {"move",
     "Send its users to another filter, delete its bits",
     {MoveOptions},
     Move},
    {"export",
     "Write Guava's bytes (scheme guava-helper)",
     {ExportOptions, AddAdoptOptions},
     Export},
    {"import",
     "Make a filter of Guava's bytes",
     {ImportOptions, AddRebuildOptions},
     Import},
    {"delete",
     "Delete a filter, or a bitmap of others",
     {AddAdoptOptions},
     [](const Context& context) {
       Check(OpenFilter(context.options)->Delete());
       Report(context, "deleted");
     }},
};

// The message of the library about wrong options, which it calls by the names
// of RedisFilterOptions, with those of the command line.
std::string NameOptions(std::string message) {
  constexpr const char* kNames[][2] = {
      {"expected_keys", "--keys"},
      {"false_positive_rate", "--rate"},
      {"doubled_string", "--doubled-string"},
      {"bits and probes", "--bits and --probes"},
      {"bits or probes", "--bits or --probes"}};
  for (const auto& [name, option] : kNames) {
    const size_t at = message.rfind(name);
    if (at != std::string::npos) {
      message.replace(at, std::strlen(name), option);
    }
  }
  return message;
}

ExitCode RunShared(const Action& action, SharedOptions* options,
                   Console* console) {
  const std::string who = std::string("deltabloom shared ") + action.name;
  Interrupt interrupt;
  try {
    ReadPassword(options);
    action.run({who, *options, console, &interrupt});
    return kSuccess;
  } catch (const Interrupted&) {
    console->Error(who + ": interrupted");
    console->Finish();
    interrupt.EndProcess();
  } catch (const RedisFailure& failure) {
    const bool usage = failure.error == RedisError::kInvalidArgument;
    const std::string message = failure.what();
    console->Error(who + ": " + (usage ? NameOptions(message) : message));
    if (usage) return kUsage;
  } catch (const std::runtime_error& error) {
    console->Error(who + ": " + error.what());
  }
  return kFailure;
}

RunFn AddOptions(CLI::App* app) {
  const auto options = std::make_shared<SharedOptions>();
  const auto chosen = std::make_shared<const Action*>();
  app->require_subcommand(1);
  for (const Action& action : kActions) {
    CLI::App* sub = app->add_subcommand(action.name, action.summary);
    sub->callback([chosen, &action] { *chosen = &action; });
    sub->add_option("NAME", options->filter.name,
                    "The filter: the key of its bitmap in Redis")
        ->required();
    for (const auto add_options : action.add_options) {
      if (add_options != nullptr) add_options(sub, options.get());
    }
    AddRedisOptions(sub, options.get());
  }
  return [chosen, options](Console* console) {
    return RunShared(**chosen, options.get(), console);
  };
}

}  // namespace

Command SharedCommand() {
  Command command = {"shared", "Fill, query and rebuild filters in Redis",
                     AddOptions};
  command.manual.description =
      R"(
Bloom filters in Redis that programs in C++, Java, Go and PHP fill and ask
together. docs/shared_filters.md says which scheme to take, and
docs/shared_filters_format.md defines every bit. A filter is named by the key of
its bitmap. For a filter of 'create' or 'import' the name is enough; a bitmap
that only other programs know is adopted (--adopt, --scheme, --bits, --probes).

The password is read from the environment variable )" +
      std::string(kPasswordVariable) +
      R"( or from --password-file, never from the command line, which other users
of the machine can read.

'check' fails open: if Redis does not answer, the filter or its bits are lost,
or Redis restarted or failed over and it was not confirmed since that no key is
lost, keys may match, and standard error says why; --fail-closed makes it an
error. An interrupted 'add' has added the keys before; an interrupted 'rebuild'
or 'import', or one without keys, leaves what was there before.

With --json, 'check' has "keys", each with "key" and "answer" (absent, may
match), and the counts "checked", "absent" and "failed_open"; 'add' has "name",
"added" and "new"; 'create' and 'info' all that describes the filter; the others
"name" and "result".)";
  command.manual.examples = {
      {"deltabloom shared create users --keys 10000000 --rate 0.01",
       "an empty filter"},
      {"deltabloom shared add users ids.txt",
       "the keys of a file, one per line"},
      {"deltabloom shared check users --key alice", "one key"},
      {"deltabloom shared check users --only absent < ids.txt > unknown.txt",
       "the keys that certainly were not added"},
      {"dump-ids > ids.txt && deltabloom shared rebuild users ids.txt",
       "all keys anew, without deleted ones, while services go on"},
      {"deltabloom shared info users --json | jq .false_positive_rate",
       "for a program"},
      {"deltabloom shared check seen --key a --adopt --scheme go-murmur3-14 "
       "--bits 20000000",
       "a bitmap that go-zero fills"},
      {"deltabloom shared import users users.bloom",
       "a filter that a JVM wrote"}};
  command.manual.success =
      "it was done; for 'check': every key has an answer, perhaps because it "
      "failed open";
  command.manual.failure =
      "an error of Redis, of a file or of a key; standard error has a line "
      "with server and key";
  return command;
}

}  // namespace deltabloom::tools
