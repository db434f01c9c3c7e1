// A TCP server for lines: each line has an answer. One thread per connection.
#ifndef DELTABLOOM_EXAMPLES_GUARD_A_STORE_LINE_SERVER_H_
#define DELTABLOOM_EXAMPLES_GUARD_A_STORE_LINE_SERVER_H_

#include <cstdint>
#include <functional>
#include <string>

// Listens on 127.0.0.1; port 0 takes a free one. `started` is told the port.
// Returns when `stop`, a descriptor, becomes readable and every connection has
// had its last answer. An empty answer closes the connection. Throws
// std::runtime_error if it cannot listen.
void ServeLines(uint16_t port, int stop,
                const std::function<void(uint16_t)>& started,
                const std::function<std::string(const std::string&)>& answer);

#endif  // DELTABLOOM_EXAMPLES_GUARD_A_STORE_LINE_SERVER_H_
