#include "tests/redis/server.h"

#include <arpa/inet.h>
#include <hiredis.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>

namespace deltabloom::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string Text(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_NIL) return "(nil)";
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  if (reply.type != REDIS_REPLY_ARRAY) {
    return (reply.type == REDIS_REPLY_ERROR ? "-" : "") +
           std::string(reply.str, reply.len);
  }
  std::string text = "[";
  for (size_t i = 0; i < reply.elements; ++i) {
    text += (i == 0 ? "" : " ") + Text(*reply.element[i]);
  }
  return text + "]";
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

const Words kEverysec = {"--appendonly", "yes", "--appendfsync", "everysec"};
const Words kAlways = {"--appendonly", "yes", "--appendfsync", "always"};

uint16_t FreePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool ok = bind(descriptor, generic, size) == 0 &&
                  getsockname(descriptor, generic, &size) == 0;
  close(descriptor);
  if (!ok) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

bool WaitFor(const std::function<bool()>& reached) {
  for (int i = 0; i < 3000; ++i) {
    if (reached()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

Server::Server(Words arguments) : arguments_(std::move(arguments)) {
  char name[] = "/tmp/deltabloom-redis.XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
  directory_ = name;
  port_ = FreePort();
  Start();
}

Server::~Server() {
  Stop();
  std::filesystem::remove_all(directory_);
}

void Server::Start() {
  Words words = {DELTABLOOM_REDIS_SERVER, "--port", std::to_string(port_)};
  words.insert(
      words.end(),
      {"--bind", "127.0.0.1", "--unixsocket", directory_ + "/socket", "--dir",
       directory_, "--save", "", "--appendonly", "no", "--logfile",
       directory_ + "/log", "--repl-diskless-sync-delay", "0"});
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
  const bool started = WaitFor([this] {
    const std::string answer = Run({"PING"});
    return answer == "PONG" || Contains(answer, "-NOAUTH");
  });
  if (!started) {
    throw std::runtime_error("redis-server does not start: see " + directory_);
  }
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
  options.connect_timeout = options.command_timeout = milliseconds(20000);
  return options;
}

RedisOptions Server::SocketOptions() const {
  RedisOptions options = Options();
  options.unix_socket = directory_ + "/socket";
  return options;
}

void Server::Replicate(const Server& master) const {
  Run({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  EXPECT_TRUE(WaitFor([this] {
    return Contains(Run({"INFO", "replication"}), "link_status:up");
  }));
  master.Run({"SET", "any", "write"});
  EXPECT_EQ(master.Run({"WAIT", "1", "15000"}), "1");
}

std::string Server::Run(const Words& words) const {
  redisContext* const context =
      redisConnectUnix((directory_ + "/socket").c_str());
  std::vector<const char*> argv;
  std::vector<size_t> sizes;
  for (const std::string& word : words) {
    argv.push_back(word.data());
    sizes.push_back(word.size());
  }
  std::string text = std::string("-") + context->errstr;
  void* const reply =
      context->err != 0
          ? nullptr
          : redisCommandArgv(context, static_cast<int>(argv.size()),
                             argv.data(), sizes.data());
  if (reply != nullptr) {
    text = Text(*static_cast<redisReply*>(reply));
    freeReplyObject(reply);
  }
  redisFree(context);
  return text;
}

Cluster::Cluster(bool replicas) {
  const size_t nodes = replicas ? 6 : 3;
  std::vector<std::string> ports;  // of the cluster's bus
  for (size_t i = 0; i < nodes; ++i) {
    ports.push_back(std::to_string(FreePort()));
    nodes_.push_back(std::make_unique<Server>(Words{
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
        "--cluster-port", ports[i], "--cluster-node-timeout",
        replicas ? "500" : "2000", "--cluster-require-full-coverage", "no"}));
  }
  const char* const ranges[3][2] = {
      {"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}};
  for (size_t i = 0; i < 3; ++i) {
    node(i).Run({"CLUSTER", "ADDSLOTSRANGE", ranges[i][0], ranges[i][1]});
    node(i).Run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  for (size_t i = 1; i < nodes; ++i) {
    node(0).Run({"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port()),
                 ports[i]});
  }
  const std::string known = "cluster_known_nodes:" + std::to_string(nodes);
  for (const auto& each : nodes_) {
    EXPECT_TRUE(WaitFor([&] {
      const std::string info = each->Run({"CLUSTER", "INFO"});
      return Contains(info, "cluster_state:ok") && Contains(info, known) &&
             Contains(info, "cluster_slots_ok:16384");
    }));
  }
  for (size_t i = 3; i < nodes; ++i) {
    node(i).Run({"CLUSTER", "REPLICATE", node(i - 3).Run({"CLUSTER", "MYID"})});
    EXPECT_TRUE(WaitFor([&] {
      return Contains(node(i).Run({"INFO", "replication"}), "link_status:up");
    }));
  }
}

RedisOptions Cluster::Options() const {
  RedisOptions options = nodes_[0]->Options();
  options.cluster = true;
  return options;
}

std::string Cluster::SlotOf(const std::string& key) const {
  return nodes_[0]->Run({"CLUSTER", "KEYSLOT", key});
}

size_t Cluster::NodeOf(const std::string& key) const {
  const int slot = std::stoi(SlotOf(key));
  return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
}

void Cluster::SetSlot(size_t node, const std::string& slot, const char* state,
                      size_t other) const {
  nodes_[node]->Run({"CLUSTER", "SETSLOT", slot, state,
                     nodes_[other]->Run({"CLUSTER", "MYID"})});
}

void Cluster::StartMove(const std::string& key, size_t from, size_t to) {
  SetSlot(to, SlotOf(key), "IMPORTING", from);
  SetSlot(from, SlotOf(key), "MIGRATING", to);
}

std::string Cluster::MoveKey(size_t from, size_t to, const std::string& key) {
  return node(from).Run({"MIGRATE", "127.0.0.1",
                         std::to_string(node(to).port()), key, "0", "20000"});
}

// Tells every node that `to` has the slot until they agree for a while: on a
// busy machine a message that was sent before can make a node forget it again.
void Cluster::FinishMove(const std::string& key, size_t to) {
  const std::string slot = SlotOf(key), address = nodes_[to]->Place();
  const auto agreed = [&] {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string reply = nodes_[i]->Run({"EXISTS", key});
      if (Contains(reply, "MOVED") != (i != to)) return false;
      if (i != to && !Contains(reply, address)) return false;
    }
    return true;
  };
  EXPECT_TRUE(WaitFor([&] {
    SetSlot(to, slot, "NODE", to);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i != to) SetSlot(i, slot, "NODE", to);
    }
    for (int check = 0; check < 4; ++check) {
      if (!agreed()) return false;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
  })) << "the cluster does not agree on slot "
      << slot;
}

RedisFilterOptions Sized(const std::string& name, const std::string& scheme,
                         uint64_t keys) {
  RedisFilterOptions options;
  options.name = name;
  options.scheme = scheme;
  options.expected_keys = keys;
  options.own_writers_only = true;
  return options;
}

RedisFilterOptions Small(const std::string& name) {
  RedisFilterOptions options = Sized(name, "go-murmur3", 1000);
  options.own_writers_only = false;
  return options;
}

namespace {

void ExpectOk(const RedisStatus& status) {
  EXPECT_TRUE(status.ok()) << status.message;
}

}  // namespace

TestFilter::TestFilter(const RedisOptions& redis,
                       const RedisFilterOptions& options) {
  ExpectOk(RedisFilter::Create(redis, options, &filter_));
}

TestFilter::TestFilter(const RedisOptions& redis, const std::string& name) {
  ExpectOk(RedisFilter::Open(redis, name, &filter_));
}

TestFilter TestFilter::Adopt(const RedisOptions& redis,
                             const RedisFilterOptions& options) {
  TestFilter adopted;
  ExpectOk(RedisFilter::Adopt(redis, options, &adopted.filter_));
  return adopted;
}

void TestFilter::Add(const Words& keys) const {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  ExpectOk(filter_->Add(views.data(), views.size()));
}

bool TestFilter::Finds(const std::string& key) const {
  bool found = false;
  ExpectOk(filter_->Check(key, &found));
  return found;
}

bool TestFilter::FindsAll(const Words& keys) const {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = std::make_unique<bool[]>(keys.size());
  ExpectOk(filter_->Check(views.data(), views.size(), found.get()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) return false;
  }
  return true;
}

RedisError TestFilter::Error(const std::string& key) const {
  bool found = false;
  const RedisStatus status = filter_->Check(key, &found);
  EXPECT_TRUE(found || status.ok());
  return status.error;
}

void TestFilter::ExpectFailure(RedisError error, const std::string& place,
                               const std::string& key) const {
  bool found = false;
  const RedisStatus status = filter_->Check("some key", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(status.error, error) << status.message;
  EXPECT_TRUE(Contains(status.message, place)) << status.message;
  EXPECT_TRUE(Contains(status.message, key)) << status.message;
  const uint64_t before = filter_->Statistics().failed_open;
  EXPECT_TRUE(filter_->MayMatch("some key"));
  EXPECT_EQ(filter_->Statistics().failed_open, before + 1);
  EXPECT_FALSE(filter_->Statistics().last_error.empty());
}

RedisFilterInfo TestFilter::Info() const {
  RedisFilterInfo info;
  ExpectOk(filter_->Info(&info));
  return info;
}

std::unique_ptr<RedisRebuild> TestFilter::Start(
    const RedisRebuildOptions& options) const {
  std::unique_ptr<RedisRebuild> rebuild;
  ExpectOk(filter_->StartRebuild(options, &rebuild));
  return rebuild;
}

RedisRebuildResult TestFilter::Rebuild(
    const Words& keys, const RedisRebuildOptions& options) const {
  const auto rebuild = Start(options);
  for (const std::string& key : keys) rebuild->Add(key);
  RedisRebuildResult result;
  ExpectOk(rebuild->Finish(&result));
  return result;
}

RedisError CreateError(const RedisOptions& redis,
                       const RedisFilterOptions& options) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Create(redis, options, &filter);
  EXPECT_EQ(filter == nullptr, !status.ok());
  return status.error;
}

RedisError OpenError(const RedisOptions& redis, const std::string& name,
                     std::string* message) {
  std::unique_ptr<RedisFilter> filter;
  const RedisStatus status = RedisFilter::Open(redis, name, &filter);
  EXPECT_EQ(filter == nullptr, !status.ok());
  EXPECT_EQ(status.message.empty(), status.ok());
  if (message != nullptr) *message = status.message;
  return status.error;
}

Server& RedisTest::TheServer() {
  static Server server;
  return server;
}

std::unique_ptr<Traffic, void (*)(Traffic*)> Traffic::New() {
  void* const memory = mmap(nullptr, sizeof(Traffic), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {new (memory) Traffic, [](Traffic* traffic) {
            traffic->Stop();
            EXPECT_EQ(traffic->absent_, 0) << "acknowledged keys were absent";
            traffic->~Traffic();
            munmap(traffic, sizeof(Traffic));
          }};
}

RedisStatus Traffic::Timed(const std::function<RedisStatus()>& call) {
  const auto start = Clock::now();
  RedisStatus status = call();
  const int64_t ms =
      std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
  if (ms > slowest_ms) slowest_ms = ms;
  return status;
}

void Traffic::Write(RedisFilter* filter, milliseconds pause) {
  while (!stop_ && readable < kMaxKeys - 100) {
    const int i = readable++;
    const std::string key = std::to_string(i);
    if (Timed([&] { return filter->Add(key); }).ok()) {
      is_acknowledged_[i] = true;
      ++acknowledged;
      if (!filter->MayMatch(key)) ++absent_;
    } else {
      ++failed;
    }
    std::this_thread::sleep_for(pause);
  }
}

RedisStatus Traffic::Build(RedisFilter* filter) {
  RedisRebuildOptions options;
  options.take_over = true;
  std::unique_ptr<RedisRebuild> rebuild;
  RedisStatus status = filter->StartRebuild(options, &rebuild);
  if (!status.ok()) return status;
  const int end = readable;
  for (int i = 0; i < end; ++i) rebuild->Add(std::to_string(i));
  status = rebuild->Finish();
  if (status.ok()) ++rebuilds;
  return status;
}

RedisStatus Traffic::CheckAll(RedisFilter* filter) {
  Words keys;
  for (int i = 0; i < readable; ++i) {
    if (is_acknowledged_[i]) keys.push_back(std::to_string(i));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto found = std::make_unique<bool[]>(keys.size());
  RedisStatus status = Timed(
      [&] { return filter->Check(views.data(), views.size(), found.get()); });
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(found[i]) << "key " << keys[i] << ": " << status.message;
  }
  return status;
}

void Traffic::StartThreads(RedisFilter* filter, int writers, milliseconds pause,
                           bool builder) {
  for (int t = 0; t < writers; ++t) {
    threads_.emplace_back([=] { Write(filter, pause); });
  }
  if (!builder) return;
  threads_.emplace_back([=] {
    while (!stop_) {
      Build(filter);
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
}

void Traffic::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace deltabloom::test
