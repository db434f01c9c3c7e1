#include "tests/redis/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <hiredis.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace deltabloom::test {
namespace {

std::string Text(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_NIL:
      return "(nil)";
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_ERROR:
      return "-" + std::string(reply.str, reply.len);
    case REDIS_REPLY_ARRAY: {
      std::string text = "[";
      for (size_t i = 0; i < reply.elements; ++i) {
        text += (i == 0 ? "" : " ") + Text(*reply.element[i]);
      }
      return text + "]";
    }
    default:
      return {reply.str, reply.len};
  }
}

void Wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

uint16_t FreePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool ok =
      bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) ==
          0;
  close(descriptor);
  if (!ok) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

Server::Server(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)) {
  char name[] = "/tmp/deltabloom-redis.XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
  directory_ = name;
  socket_ = directory_ + "/redis.sock";
  port_ = FreePort();
  Start();
}

Server::~Server() {
  Stop();
  std::filesystem::remove_all(directory_);
}

void Server::Start() {
  std::vector<std::string> words = {DELTABLOOM_REDIS_SERVER,
                                    "--port",
                                    std::to_string(port_),
                                    "--bind",
                                    "127.0.0.1",
                                    "--unixsocket",
                                    socket_,
                                    "--dir",
                                    directory_,
                                    "--save",
                                    "",
                                    "--appendonly",
                                    "no",
                                    "--logfile",
                                    directory_ + "/log"};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(argv[0], argv.data());
    _exit(127);
  }
  for (int i = 0; i < 1000; ++i) {
    const std::string answer = Run({"PING"});
    if (answer == "PONG" || answer.rfind("-NOAUTH", 0) == 0) return;
    Wait(10);
  }
  throw std::runtime_error("redis-server does not start: see " + directory_);
}

void Server::Stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Server::Pause() { kill(pid_, SIGSTOP); }
void Server::Resume() { kill(pid_, SIGCONT); }

RedisOptions Server::Options() const {
  RedisOptions options;
  options.port = port_;
  // Sanitizers and busy machines are slow; tests of timeouts set their own.
  options.connect_timeout = options.command_timeout =
      std::chrono::milliseconds(20000);
  return options;
}

RedisOptions Server::SocketOptions() const {
  RedisOptions options = Options();
  options.unix_socket = socket_;
  return options;
}

std::string Server::Run(const std::vector<std::string>& words) const {
  redisContext* context = redisConnectUnix(socket_.c_str());
  if (context == nullptr) return "-no memory";
  std::vector<const char*> argv;
  std::vector<size_t> sizes;
  for (const std::string& word : words) {
    argv.push_back(word.data());
    sizes.push_back(word.size());
  }
  std::string text = std::string("-") + context->errstr;
  if (context->err == 0) {
    auto* reply = static_cast<redisReply*>(redisCommandArgv(
        context, static_cast<int>(argv.size()), argv.data(), sizes.data()));
    if (reply != nullptr) {
      text = Text(*reply);
      freeReplyObject(reply);
    }
  }
  redisFree(context);
  return text;
}

Cluster::Cluster(bool replicas) {
  const size_t nodes = replicas ? 6 : 3;
  for (size_t i = 0; i < nodes; ++i) {
    nodes_.push_back(std::make_unique<Server>(std::vector<std::string>{
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
        "--cluster-port", std::to_string(FreePort()), "--cluster-node-timeout",
        replicas ? "500" : "2000", "--cluster-require-full-coverage", "no",
        "--repl-diskless-sync-delay", "0"}));
  }
  const char* const ranges[3][2] = {
      {"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}};
  for (size_t i = 0; i < 3; ++i) {
    node(i).Run({"CLUSTER", "ADDSLOTSRANGE", ranges[i][0], ranges[i][1]});
    node(i).Run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  Join(nodes);
  for (size_t i = 3; i < nodes; ++i) {
    node(i).Run({"CLUSTER", "REPLICATE", IdOf(i - 3)});
  }
  for (size_t i = 3; i < nodes; ++i) {
    for (int tries = 0; tries < 2000; ++tries) {
      if (node(i).Run({"INFO", "replication"}).find("link_status:up") !=
          std::string::npos) {
        break;
      }
      Wait(10);
    }
  }
}

void Cluster::Join(size_t nodes) {
  for (size_t i = 1; i < nodes; ++i) {
    const std::string bus =
        node(i).Run({"CONFIG", "GET", "cluster-port"});  // "[name value]"
    const size_t space = bus.find(' ');
    node(0).Run({"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port()),
                 bus.substr(space + 1, bus.size() - space - 2)});
  }
  const std::string known = "cluster_known_nodes:" + std::to_string(nodes);
  for (int tries = 0; tries < 2000; ++tries) {
    bool ready = true;
    for (size_t i = 0; i < nodes; ++i) {
      const std::string info = node(i).Run({"CLUSTER", "INFO"});
      ready = ready && info.find("cluster_state:ok") != info.npos &&
              info.find("cluster_slots_ok:16384") != info.npos &&
              info.find(known) != info.npos;
    }
    if (ready) return;
    Wait(10);
  }
  throw std::runtime_error("the cluster does not come up");
}

RedisOptions Cluster::Options() const {
  RedisOptions options = nodes_[0]->Options();
  options.cluster = true;
  return options;
}

uint32_t Cluster::SlotOf(const std::string& key) const {
  return static_cast<uint32_t>(
      std::stoul(nodes_[0]->Run({"CLUSTER", "KEYSLOT", key})));
}

size_t Cluster::NodeOf(const std::string& key) const {
  const uint32_t slot = SlotOf(key);
  return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
}

void Cluster::StartMove(const std::string& key, size_t from, size_t to) {
  const std::string slot = std::to_string(SlotOf(key));
  node(to).Run({"CLUSTER", "SETSLOT", slot, "IMPORTING", IdOf(from)});
  node(from).Run({"CLUSTER", "SETSLOT", slot, "MIGRATING", IdOf(to)});
}

std::string Cluster::MoveKeys(size_t from, size_t to,
                              const std::vector<std::string>& keys) {
  std::vector<std::string> words = {
      "MIGRATE", "127.0.0.1", std::to_string(node(to).port()), "", "0",
      "20000",   "KEYS"};
  words.insert(words.end(), keys.begin(), keys.end());
  return node(from).Run(words);
}

void Cluster::FinishMove(const std::string& key, size_t to) {
  const std::string slot = std::to_string(SlotOf(key));
  const std::string address = ":" + std::to_string(nodes_[to]->port());
  const auto agreed = [&] {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string reply = nodes_[i]->Run({"EXISTS", key});
      const bool moved = reply.find("MOVED") != std::string::npos;
      if (moved != (i != to)) return false;
      if (moved && reply.find(address) == std::string::npos) return false;
    }
    return true;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    nodes_[to]->Run({"CLUSTER", "SETSLOT", slot, "NODE", IdOf(to)});
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i != to) {
        nodes_[i]->Run({"CLUSTER", "SETSLOT", slot, "NODE", IdOf(to)});
      }
    }
    bool lasts = agreed();
    for (int check = 0; lasts && check < 3; ++check) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      lasts = agreed();
    }
    if (lasts) return;
  } while (std::chrono::steady_clock::now() < end);
  ADD_FAILURE() << "the cluster does not agree on slot " << slot;
}

std::string Cluster::IdOf(size_t node) const {
  return nodes_[node]->Run({"CLUSTER", "MYID"});
}

void MakeReplica(const Server& server, const Server& master) {
  server.Run({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  for (int i = 0; i < 2000; ++i) {
    if (server.Run({"INFO", "replication"}).find("link_status:up") !=
        std::string::npos) {
      break;
    }
    Wait(10);
  }
  master.Run({"SET", "any", "write"});
  EXPECT_EQ(master.Run({"WAIT", "1", "15000"}), "1");
}

RedisFilterOptions Small(const std::string& name) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = "go-murmur3";
  options.expected_keys = 1000;
  return options;
}

std::unique_ptr<RedisFilter> Create(const RedisOptions& redis,
                                    const RedisFilterOptions& options) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Create(redis, options, &filter);
  EXPECT_TRUE(status.ok()) << status.message;
  return filter;
}

std::unique_ptr<RedisFilter> Open(const RedisOptions& redis,
                                  const std::string& name) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Open(redis, name, &filter);
  EXPECT_TRUE(status.ok()) << status.message;
  return filter;
}

std::unique_ptr<RedisRebuild> Start(RedisFilter* filter,
                                    const RedisRebuildOptions& options) {
  std::unique_ptr<RedisRebuild> rebuild;
  const RedisStatus status = filter->StartRebuild(options, &rebuild);
  EXPECT_TRUE(status.ok()) << status.message;
  return rebuild;
}

bool Finds(RedisFilter* filter, const std::string& key) {
  bool found = false;
  const RedisStatus status = filter->Check(key, &found);
  EXPECT_TRUE(status.ok()) << status.message;
  return found;
}

void ExpectFailure(RedisFilter* filter, RedisError error,
                   const std::string& place, const std::string& key) {
  bool found = false;
  const RedisStatus status = filter->Check("some key", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(status.error, error) << status.message;
  EXPECT_NE(status.message.find(place), std::string::npos) << status.message;
  EXPECT_NE(status.message.find(key), std::string::npos) << status.message;
  const uint64_t before = filter->Statistics().failed_open;
  EXPECT_TRUE(filter->MayMatch("some key"));
  EXPECT_EQ(filter->Statistics().failed_open, before + 1);
  EXPECT_FALSE(filter->Statistics().last_error.empty());
}

}  // namespace deltabloom::test
