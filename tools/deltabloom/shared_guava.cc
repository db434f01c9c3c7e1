// The actions of deltabloom shared for Guava's bytes in files.
#include <memory>

#include "tools/deltabloom/guava_file.h"
#include "tools/deltabloom/shared_actions.h"

namespace deltabloom::tools {
namespace {

constexpr char kGuavaHelper[] = "guava-helper";

// Why the filter has no Guava bytes, or nothing.
std::string WhyNotGuava(const RedisFilterInfo& info) {
  if (info.scheme != kGuavaHelper) {
    return "its scheme is " + info.scheme + ": only " + kGuavaHelper +
           " has Guava's bits";
  }
  if (info.doubled_string) return "its funnel puts the string twice";
  if (info.bits % 64 != 0) {
    return "it has " + std::to_string(info.bits) +
           " bits: Guava's filters have a multiple of 64";
  }
  return "";
}

// Why the filter cannot hold the bits of the file, or nothing.
std::string WhyNot(const RedisFilterInfo& info, const GuavaFilter& guava) {
  std::string why = WhyNotGuava(info);
  if (why.empty() &&
      (info.bits != guava.Bits() || info.probes != guava.HashFunctions())) {
    why = "it has " + std::to_string(info.bits) + " bits and " +
          std::to_string(info.probes) + " per key, the file " +
          std::to_string(guava.Bits()) + " and " +
          std::to_string(guava.HashFunctions());
  }
  return why;
}

ExitCode Refuse(const SharedContext& context, const std::string& what,
                const std::string& why) {
  context.console->Error(context.who + ": " + what + ": " + why);
  return kFailure;
}

// Puts the bits in the place of all that the filter has.
RedisStatus Replace(const SharedContext& context, std::string_view bits,
                    RedisFilter* filter, RedisRebuildResult* result) {
  std::unique_ptr<RedisRebuild> rebuild;
  const RedisStatus status =
      filter->StartRebuild(RebuildOptions(context), &rebuild);
  if (!status.ok()) return status;
  rebuild->AddBits(bits);  // of the right size: the caller has compared
  return rebuild->Finish(result);
}

// Opens the filter that is there, or makes one.
RedisStatus OpenOrCreate(const SharedOptions& options, bool* created,
                         std::unique_ptr<RedisFilter>* filter) {
  *created = false;
  if (options.replace || options.adopt) return OpenFilter(options, filter);
  RedisFilterOptions filter_options = options.filter;
  filter_options.filled_by_rebuild = true;
  const RedisStatus status =
      RedisFilter::Create(options.redis, filter_options, filter);
  *created = status.ok();
  return status;
}

ExitCode ReportImport(const SharedContext& context, bool created,
                      const RedisRebuildResult& result,
                      const GuavaFilter& guava) {
  const char* how =
      created ? "created" : (result.replaced ? "replaced" : "added to");
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", context.options.filter.name);
    json->Text("result", how);
    json->Number("bits", guava.Bits());
    json->Number("probes", uint64_t{guava.HashFunctions()});
    json->Number("keys_estimate", guava.ApproximateElementCount());
  } else {
    context.console->Line(
        context.options.filter.name + ": " + how + ": " +
        std::to_string(guava.Bits()) + " bits, " +
        std::to_string(guava.HashFunctions()) + " per key, about " +
        std::to_string(guava.ApproximateElementCount()) + " keys");
  }
  return kSuccess;
}

}  // namespace

ExitCode SharedExport(const SharedContext& context) {
  const SharedOptions& options = context.options;
  if (options.file == "-" && context.console->json() != nullptr) {
    context.console->Error(context.who + ": --json does not go with -");
    return kUsage;
  }
  std::unique_ptr<RedisFilter> filter;
  RedisFilterInfo info;
  RedisStatus status = OpenFilter(options, &filter);
  if (status.ok()) status = filter->Info(&info);
  if (!status.ok()) return Fail(context, status);
  const std::string why = WhyNotGuava(info);
  if (!why.empty()) return Refuse(context, options.filter.name, why);
  std::string bits;
  status = filter->ReadBits(&bits);
  if (!status.ok()) return Fail(context, status);
  context.interrupt->Check();
  const std::string bytes = GuavaBytes(bits, info.probes);
  WriteWholeFile(options.file, bytes);
  if (JsonOutput* json = context.console->json()) {
    json->Text("name", options.filter.name);
    json->Text("file", options.file);
    json->Number("bytes", uint64_t{bytes.size()});
  } else if (options.file != "-") {
    context.console->Line(options.file + ": " + std::to_string(bytes.size()) +
                          " bytes of " + options.filter.name);
  }
  return kSuccess;
}

ExitCode SharedImport(const SharedContext& context) {
  const std::string bytes = ReadWholeFile(context.options.file);
  std::string error;
  const auto guava = GuavaFilter::FromBytes(bytes, &error);
  if (guava == nullptr) return Refuse(context, context.options.file, error);
  if (guava->Strategy() != GuavaStrategy::kMurmur128Mitz32) {
    return Refuse(context, context.options.file,
                  std::string("its strategy is ") +
                      GuavaStrategyName(guava->Strategy()) +
                      ": bitmaps in Redis have MURMUR128_MITZ_32");
  }
  SharedOptions options = context.options;
  options.filter.scheme = kGuavaHelper;
  options.filter.bits = guava->Bits();
  options.filter.probes = guava->HashFunctions();
  const std::string invalid = options.filter.Validate();
  if (!invalid.empty()) return Refuse(context, options.file, invalid);

  bool created = false;
  std::unique_ptr<RedisFilter> filter;
  RedisStatus status = OpenOrCreate(options, &created, &filter);
  if (!status.ok()) return Fail(context, status);
  if (options.replace) {
    RedisFilterInfo info;
    status = filter->Info(&info);
    if (!status.ok()) return Fail(context, status);
    const std::string why = WhyNot(info, *guava);
    if (!why.empty()) return Refuse(context, options.filter.name, why);
  }
  RedisRebuildResult result;
  status = Replace(context, BitsOfGuava(bytes), filter.get(), &result);
  if (!status.ok()) {
    if (created) filter->Delete();
    return Fail(context, status);
  }
  return ReportImport(context, created, result, *guava);
}

}  // namespace deltabloom::tools
