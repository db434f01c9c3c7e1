// Files of Guava's BloomFilter (docs/format.md, chapter "Guava"): a header of
// six bytes, then big-endian words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "deltabloom/guava_filter.h"
#include "deltabloom/redis_filter.h"
#include "shared_filters/command/action.h"
#include "shared_filters/command/commands.h"
#include "shared_filters/command/info.h"
#include "shared_filters/command/options.h"
#include "shared_filters/command/whole_file.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

constexpr char kGuavaHelper[] = "guava-helper";
constexpr size_t kGuavaHeader = 6;

// The bytes of each word of eight the other way round.
std::string WordsReversed(std::string words) {
  for (char* at = words.data(); at < words.data() + words.size(); at += 8) {
    std::reverse(at, at + 8);
  }
  return words;
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

void AddExportOptions(CLI::App* app, SharedOptions* options) {
  app->add_option("FILE", options->file, "Where to; - is standard output")
      ->required();
}

void AddImportOptions(CLI::App* app, SharedOptions* options) {
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

}  // namespace

Command ExportCommand() {
  Command command = {
      "export", "Write Guava's bytes (scheme guava-helper)", [](CLI::App* app) {
        return AddAction(app, {AddExportOptions, AddAdoptOptions}, Export);
      }};
  command.manual = ManualOf(
      R"(
Writes a filter of scheme guava-helper as the file that Guava's
BloomFilter.readFrom reads, with the strategy MURMUR128_MITZ_32. Its bits must be
a multiple of 64.)",
      {{"deltabloom-shared export users users.bloom", "for a JVM"}});
  return command;
}

Command ImportCommand() {
  Command command = {
      "import", "Make a filter of Guava's bytes", [](CLI::App* app) {
        return AddAction(app, {AddImportOptions, AddRebuildOptions}, Import);
      }};
  command.manual = ManualOf(
      R"(
Makes a filter of scheme guava-helper from the file that Guava's
BloomFilter.writeTo wrote, with the strategy MURMUR128_MITZ_32. If it is
interrupted or killed, what was there before is unchanged.)",
      {{"deltabloom-shared import users users.bloom",
        "a filter that a JVM wrote"},
       {"deltabloom-shared import users users.bloom --replace "
        "--writers-stopped",
        "the same, in the place of all keys that it had"}});
  return command;
}

}  // namespace deltabloom::tools
