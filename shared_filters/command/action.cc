#include "shared_filters/command/action.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/command/interrupt.h"
#include "shared_filters/command/options.h"
#include "tools/program/console.h"
#include "tools/program/program.h"

namespace deltabloom::tools {
namespace {

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

ExitCode RunAction(const std::string& who, Action action,
                   SharedOptions* options, Console* console) {
  Interrupt interrupt;
  try {
    ReadPassword(options);
    action({who, *options, console, &interrupt});
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

}  // namespace

RunFn AddAction(CLI::App* app, std::initializer_list<AddOptionsFn> groups,
                Action action) {
  const auto options = std::make_shared<SharedOptions>();
  app->add_option("NAME", options->filter.name,
                  "The filter: the key of its bitmap in Redis")
      ->required();
  for (const AddOptionsFn add_group : groups) add_group(app, options.get());
  AddRedisOptions(app, options.get());
  const std::string who = "deltabloom-shared " + app->get_name();
  return [who, action, options](Console* console) {
    return RunAction(who, action, options.get(), console);
  };
}

Manual ManualOf(const std::string& description,
                const std::vector<Term>& examples, const std::string& success) {
  Manual manual;
  manual.description = description;
  manual.examples = examples;
  manual.success = success;
  manual.failure =
      "an error of Redis, of a file or of a key; standard error has a line "
      "with server and key";
  manual.environment = {
      {kPasswordVariable, "the password, unless --password-file names a file"}};
  return manual;
}

void Check(const RedisStatus& status) {
  if (status.error == RedisError::kCancelled) throw Interrupted();
  if (!status.ok()) throw RedisFailure(status);
}

[[noreturn]] void Refuse(const std::string& what, const std::string& why) {
  throw std::runtime_error(what + ": " + why);
}

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

RedisRebuildOptions RebuildOptions(const Context& context) {
  RedisRebuildOptions options = context.options.rebuild;
  options.progress = [context](uint64_t done, uint64_t all) {
    context.console->ShowProgress(done, all, "bytes",
                                  context.options.filter.name);
  };
  options.cancelled = [context] { return context.interrupt->Came(); };
  return options;
}

}  // namespace deltabloom::tools
