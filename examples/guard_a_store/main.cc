// A service in front of a database that asks a shared filter first. README.md
// has the commands and what they answer.
//
//   c++ -std=c++17 *.cc $(pkg-config --cflags --libs deltabloom-redis)
//   -lrocksdb -pthread
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "guard.h"
#include "line_server.h"

namespace {

struct Settings {
  std::string store = "guarded.rocksdb";
  uint16_t port = 0;
  uint32_t rebuild_every_s = 3600;
  deltabloom::RedisOptions redis;
  deltabloom::RedisFilterOptions filter;
};

const char kUsage[] =
    "usage: guard_a_store [--store PATH] [--port N] [--rebuild-every SECONDS]\n"
    "         [--redis-host HOST] [--redis-port N] [--filter NAME]\n"
    "         [--scheme NAME] [--keys N]\n"
    "The password of Redis is in the environment: DELTABLOOM_REDIS_PASSWORD\n";

bool ParseNumber(const char* text, uint64_t max, uint64_t* number) {
  char* end = nullptr;
  errno = 0;
  *number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
         *number <= max;
}

bool Parse(int argc, char** argv, Settings* settings) {
  settings->filter.name = "guard:ids";
  settings->filter.expected_keys = 1000000;
  // Empty, it would refuse our ids to the neighbours before the warm-up is
  // done.
  settings->filter.filled_by_rebuild = true;
  // The clients in Java, PHP and Go add to the bitmap of a rebuild, too.
  settings->filter.own_writers_only = true;
  // A lookup that waits longer than this asks the store instead.
  settings->redis.connect_timeout = std::chrono::milliseconds(200);
  settings->redis.command_timeout = std::chrono::milliseconds(200);
  if (const char* word = std::getenv("DELTABLOOM_REDIS_PASSWORD")) {
    settings->redis.password = word;
  }
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    uint64_t number = 0;
    if (name == "--store") {
      settings->store = value;
    } else if (name == "--redis-host") {
      settings->redis.host = value;
    } else if (name == "--filter") {
      settings->filter.name = value;
    } else if (name == "--scheme") {
      settings->filter.scheme = value;
    } else if (name == "--port" && ParseNumber(value, 65535, &number)) {
      settings->port = static_cast<uint16_t>(number);
    } else if (name == "--redis-port" && ParseNumber(value, 65535, &number)) {
      settings->redis.port = static_cast<uint16_t>(number);
    } else if (name == "--keys" && ParseNumber(value, UINT64_MAX, &number)) {
      settings->filter.expected_keys = number;
    } else if (name == "--rebuild-every" &&
               ParseNumber(value, UINT32_MAX, &number) && number > 0) {
      settings->rebuild_every_s = static_cast<uint32_t>(number);
    } else {
      return false;
    }
  }
  return true;
}

std::string Describe(const GuardStatistics& s) {
  return "lookups " + std::to_string(s.lookups) + "\nrefused_by_filter " +
         std::to_string(s.refused) + "\nstore_reads " +
         std::to_string(s.store_reads) + "\nstore_reads_in_vain " +
         std::to_string(s.false_maybes) + "\nfailed_open " +
         std::to_string(s.failed_open) + "\nrebuilds " +
         std::to_string(s.rebuilds) + "\nfailed_rebuilds " +
         std::to_string(s.failed_rebuilds) + "\nfilter " +
         (s.behind ? "behind" : "complete") + "\nEND";
}

std::string AnswerPut(Guard* guard, const std::string& id,
                      const std::string& value) {
  switch (guard->Put(id, value)) {
    case Guard::Stored::kYes:
      return "OK";
    case Guard::Stored::kBehind:
      return "OK filter behind";
    case Guard::Stored::kError:
      break;
  }
  return "ERROR store";
}

std::string AnswerGet(Guard* guard, const std::string& id) {
  std::string value;
  switch (guard->Get(id, &value)) {
    case Guard::Found::kYes:
      return "VALUE " + value;
    case Guard::Found::kNo:
      return "NONE";
    case Guard::Found::kError:
      break;
  }
  return "ERROR store";
}

std::string AnswerOrder(Guard* guard, const std::string& id) {
  switch (guard->Claim(id)) {
    case Guard::Claimed::kNew:
      return "NEW";
    case Guard::Claimed::kUsed:
      return "USED";
    case Guard::Claimed::kError:
      break;
  }
  return "ERROR store";
}

// Ids and order numbers have prefixes of their own in store and filter.
std::string Answer(Guard* guard, const std::string& line) {
  const size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  const std::string rest =
      space == std::string::npos ? "" : line.substr(space + 1);
  if (verb == "QUIT") return "";
  if (verb == "STATS") return Describe(guard->Statistics());
  if (verb == "REBUILD") {
    const std::string error = guard->Rebuild();
    return error.empty() ? "OK" : "ERROR " + error;
  }
  const size_t end = rest.find(' ');
  const bool has_value = end != std::string::npos;
  if (!rest.empty() && end != 0) {
    if (verb == "PUT" && has_value) {
      return AnswerPut(guard, "id:" + rest.substr(0, end),
                       rest.substr(end + 1));
    }
    if (verb == "GET" && !has_value) return AnswerGet(guard, "id:" + rest);
    if (verb == "ORDER" && !has_value)
      return AnswerOrder(guard, "order:" + rest);
  }
  return "ERROR use PUT id value, GET id, ORDER number, REBUILD, STATS, QUIT";
}

// Rebuilds on time; and as soon as it can while the filter is behind.
class Schedule {
 public:
  Schedule(Guard* guard, std::chrono::seconds period)
      : guard_(guard), period_(period), thread_([this] { Run(); }) {}
  ~Schedule() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void Run() {
    using Clock = std::chrono::steady_clock;
    auto due = Clock::now() + period_;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1),
                           [this] { return stopped_; })) {
      if (!guard_->NeedsRebuild() && Clock::now() < due) continue;
      lock.unlock();
      const std::string error = guard_->Rebuild();
      if (!error.empty()) {
        std::fprintf(stderr, "rebuild failed: %s\n", error.c_str());
      }
      due = Clock::now() + period_;
      lock.lock();
    }
  }

  Guard* const guard_;
  const std::chrono::seconds period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

// A descriptor that is readable once the service is to end.
int StopDescriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

void Serve(const Settings& settings, int stop) {
  Guard guard(settings.store, settings.redis, settings.filter);
  const std::string error = guard.Rebuild();  // the warm-up
  std::fprintf(
      stderr, "%s\n",
      error.empty()
          ? "the filter has every id of the store"
          : ("without a filter until Redis answers: " + error).c_str());
  const Schedule schedule(&guard,
                          std::chrono::seconds(settings.rebuild_every_s));
  ServeLines(
      settings.port, stop,
      [](uint16_t port) {
        std::printf("listening on 127.0.0.1:%d\n", port);
        std::fflush(stdout);
      },
      [&guard](const std::string& line) { return Answer(&guard, line); });
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!Parse(argc, argv, &settings)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string wrong = settings.filter.Validate();
  if (!wrong.empty()) {
    std::fprintf(stderr, "guard_a_store: %s\n", wrong.c_str());
    return 2;
  }
  try {
    Serve(settings, StopDescriptor());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guard_a_store: %s\n", error.what());
    return 1;
  }
  return 0;
}
