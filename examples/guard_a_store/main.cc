// A service in front of a database that checks a shared filter first. README.md
// has its commands and answers.
//
//   c++ -std=c++17 *.cc $(pkg-config --cflags --libs deltabloom-redis)
//   -lrocksdb -pthread
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "guard.h"

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
  const Guard::Stored stored = guard->Put(id, value);
  if (stored == Guard::Stored::kError) return "ERROR store";
  return stored == Guard::Stored::kYes ? "OK" : "OK filter behind";
}

std::string AnswerGet(Guard* guard, const std::string& id) {
  std::string value;
  const Guard::Found found = guard->Get(id, &value);
  if (found == Guard::Found::kError) return "ERROR store";
  return found == Guard::Found::kYes ? "VALUE " + value : "NONE";
}

std::string AnswerOrder(Guard* guard, const std::string& id) {
  const Guard::Claimed claimed = guard->Claim(id);
  if (claimed == Guard::Claimed::kError) return "ERROR store";
  return claimed == Guard::Claimed::kNew ? "NEW" : "USED";
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

constexpr size_t kMaxLine = size_t{1} << 20;

bool SendAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// True if there is something to read before the end of all.
bool Wait(int descriptor, int stop) {
  pollfd waited[] = {{descriptor, POLLIN, 0}, {stop, POLLIN, 0}};
  while (poll(waited, 2, -1) < 0) {
    if (errno != EINTR) return false;
  }
  return waited[1].revents == 0;
}

void ServeConnection(
    int connection, int stop,
    const std::function<std::string(const std::string&)>& answer) {
  std::string buffer;
  char piece[4096];
  while (Wait(connection, stop)) {
    const ssize_t got = recv(connection, piece, sizeof(piece), 0);
    if (got <= 0) return;
    buffer.append(piece, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = buffer.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      std::string line = buffer.substr(begin, end - begin);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const std::string reply = answer(line);
      if (reply.empty() || !SendAll(connection, reply + "\n")) return;
    }
    buffer.erase(0, begin);
    if (buffer.size() > kMaxLine) {
      SendAll(connection, "ERROR a line of more than 1 MiB\n");
      return;
    }
  }
}

int Listen(uint16_t* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(*port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 ||
      setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(listener, generic, size) != 0 || listen(listener, 128) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    throw std::runtime_error("port " + std::to_string(*port) + ": " +
                             std::strerror(errno));
  }
  *port = ntohs(address.sin_port);
  return listener;
}

// A TCP server for lines, on 127.0.0.1: each line has an answer, an empty one
// closes the connection. Port 0 takes a free one; `started` gets it. Returns
// when `stop`, a descriptor, becomes readable and every connection has had its
// last answer. Throws std::runtime_error if it cannot listen.
void ServeLines(uint16_t port, int stop,
                const std::function<void(uint16_t)>& started,
                const std::function<std::string(const std::string&)>& answer) {
  const int listener = Listen(&port);
  std::atomic<int> open{0};
  started(port);
  while (Wait(listener, stop)) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      // Out of descriptors, perhaps: some connection will end.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    ++open;
    std::thread([connection, stop, &answer, &open] {
      ServeConnection(connection, stop, answer);
      close(connection);
      --open;
    }).detach();
  }
  close(listener);
  while (open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

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
