#include "line_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace {

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

}  // namespace

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
