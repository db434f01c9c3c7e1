// A service in front of a database that checks a shared filter first. README.md
// has its commands and answers.
//
//   c++ -std=c++17 *.cc $(pkg-config --cflags --libs deltabloom-redis)
//   -lrocksdb -pthread
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "deltabloom/redis_filter.h"
#include "guard.h"

namespace {

struct Settings {
  std::string store = "guarded.rocksdb";
  uint16_t port = 0;
  uint32_t rebuild_every_s = 3600;
  // A lookup that waits longer than this reads the store instead.
  uint32_t redis_timeout_ms = 200;
  deltabloom::RedisOptions redis;
  deltabloom::RedisFilterOptions filter;
};

const char kUsage[] =
    "usage: guard_a_store [--store PATH] [--port N] [--rebuild-every SECONDS]\n"
    "         [--redis-host HOST] [--redis-port N] [--redis-timeout MS]\n"
    "         [--filter NAME] [--scheme NAME] [--keys N]\n"
    "The password of Redis is in the environment: DELTABLOOM_REDIS_PASSWORD\n";

Settings DefaultSettings() {
  Settings settings;
  settings.filter.name = "guard:ids";
  settings.filter.expected_keys = 1000000;
  // Empty, it would reject our ids in other services before the warm-up is
  // done.
  settings.filter.filled_by_rebuild = true;
  // The clients in Java, PHP and Go add to the bitmap of a rebuild, too.
  settings.filter.own_writers_only = true;
  if (const char* word = std::getenv("DELTABLOOM_REDIS_PASSWORD")) {
    settings.redis.password = word;
  }
  return settings;
}

template <typename Number>
bool Parse(const std::string& text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *number);
  return result.ec == std::errc() && result.ptr == end;
}

bool Set(const std::string& option, const std::string& value,
         Settings* settings) {
  const std::map<std::string, std::string*> texts = {
      {"--store", &settings->store},
      {"--redis-host", &settings->redis.host},
      {"--filter", &settings->filter.name},
      {"--scheme", &settings->filter.scheme}};
  const auto text = texts.find(option);
  if (text != texts.end()) {
    *text->second = value;
    return true;
  }
  if (option == "--port") return Parse(value, &settings->port);
  if (option == "--redis-port") return Parse(value, &settings->redis.port);
  if (option == "--redis-timeout") {
    return Parse(value, &settings->redis_timeout_ms);
  }
  if (option == "--keys") return Parse(value, &settings->filter.expected_keys);
  return option == "--rebuild-every" &&
         Parse(value, &settings->rebuild_every_s) &&
         settings->rebuild_every_s > 0;
}

std::string Describe(const GuardStatistics& s) {
  std::ostringstream text;
  text << "lookups " << s.lookups << "\nrefused_by_filter " << s.refused
       << "\nstore_reads " << s.store_reads << "\nstore_reads_in_vain "
       << s.false_maybes << "\nfailed_open " << s.failed_open << "\nrebuilds "
       << s.rebuilds << "\nfailed_rebuilds " << s.failed_rebuilds << "\nfilter "
       << (s.behind ? "behind" : "complete") << "\nEND";
  return text.str();
}

// Ids and order numbers have prefixes of their own in store and filter.
std::string Answer(Guard* guard, const std::string& line) {
  std::istringstream words(line);
  std::string verb, id, value;
  std::getline(words, verb, ' ');
  const bool has_id = std::getline(words, id, ' ') && !id.empty();
  const bool ends = words.eof();
  if (verb == "QUIT") return "";
  if (verb == "STATS") return Describe(guard->Statistics());
  if (verb == "REBUILD") {
    const std::string error = guard->Rebuild();
    return error.empty() ? "OK" : "ERROR " + error;
  }
  if (verb == "PUT" && has_id && !ends) {
    std::getline(words, value);
    const Guard::Stored stored = guard->Put("id:" + id, value);
    return stored == Guard::Stored::kYes      ? "OK"
           : stored == Guard::Stored::kBehind ? "OK filter behind"
                                              : "ERROR store";
  }
  if (verb == "GET" && has_id && ends) {
    const Guard::Found found = guard->Get("id:" + id, &value);
    return found == Guard::Found::kYes  ? "VALUE " + value
           : found == Guard::Found::kNo ? "NONE"
                                        : "ERROR store";
  }
  if (verb == "ORDER" && has_id && ends) {
    const Guard::Claimed claimed = guard->Claim("order:" + id);
    return claimed == Guard::Claimed::kNew    ? "NEW"
           : claimed == Guard::Claimed::kUsed ? "USED"
                                              : "ERROR store";
  }
  return "ERROR use PUT id value, GET id, ORDER number, REBUILD, STATS, QUIT";
}

// Rebuilds on time; and as soon as it can while the filter is behind.
[[noreturn]] void RebuildForever(Guard* guard, std::chrono::seconds period) {
  using Clock = std::chrono::steady_clock;
  for (auto due = Clock::now() + period;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (!guard->NeedsRebuild() && Clock::now() < due) continue;
    const std::string error = guard->Rebuild();
    if (!error.empty()) std::cerr << "rebuild failed: " + error + "\n";
    due = Clock::now() + period;
  }
}

// Each line has an answer; an empty one closes the connection.
void ServeConnection(Guard* guard, int connection) {
  FILE* const in = fdopen(connection, "r");
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t size; (size = getline(&line, &capacity, in)) > 0;) {
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) {
      --size;
    }
    std::string reply = Answer(guard, {line, static_cast<size_t>(size)});
    if (reply.empty()) break;
    reply += '\n';
    std::string_view rest = reply;
    while (!rest.empty()) {
      const ssize_t sent =
          send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      rest.remove_prefix(static_cast<size_t>(sent));
    }
    if (!rest.empty()) break;
  }
  std::free(line);
  std::fclose(in);
}

// Listens on 127.0.0.1. Port 0 takes a free one.
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

[[noreturn]] void Serve(const Settings& settings) {
  Guard guard(settings.store, settings.redis, settings.filter);
  const std::string error = guard.Rebuild();  // the warm-up
  std::cerr << (error.empty()
                    ? "the filter has every id of the store"
                    : "without a filter until Redis answers: " + error)
            << std::endl;
  std::thread(RebuildForever, &guard,
              std::chrono::seconds(settings.rebuild_every_s))
      .detach();
  uint16_t port = settings.port;
  const int listener = Listen(&port);
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  while (true) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      // Out of descriptors, perhaps: some connection will end.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else {
      std::thread(ServeConnection, &guard, connection).detach();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings = DefaultSettings();
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !Set(argv[i], argv[i + 1], &settings)) {
      std::cerr << kUsage;
      return 2;
    }
  }
  settings.redis.connect_timeout = settings.redis.command_timeout =
      std::chrono::milliseconds(settings.redis_timeout_ms);
  const std::string wrong = settings.filter.Validate();
  if (!wrong.empty()) {
    std::cerr << "guard_a_store: " << wrong << "\n";
    return 2;
  }
  // Every write that was answered is in the store's log.
  for (const int end : {SIGINT, SIGTERM}) signal(end, [](int) { _exit(0); });
  try {
    Serve(settings);
  } catch (const std::exception& error) {
    std::cerr << "guard_a_store: " << error.what() << "\n";
    return 1;
  }
}
