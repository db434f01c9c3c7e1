#include "shared_filters/redis/verify.h"

#include <string>
#include <vector>

#include "deltabloom/redis_filter.h"
#include "shared_filters/redis/client.h"
#include "shared_filters/redis/connection.h"
#include "shared_filters/redis/descriptor.h"

namespace deltabloom::internal {

Request AskIdentity(const Shard& names) {
  return Request("HMGET", names.descriptor, "id", "run_id", "replid",
                 "durable");
}

std::string WhyUnverified(const RedisReply& reply,
                          const std::vector<ServerIdentity>& servers) {
  if (reply.elements.size() != 4) return "its descriptor cannot be read";
  for (const ServerIdentity& server : servers) {
    if (server.run_id.empty() || server.replid.empty()) {
      return "INFO does not identify the server (" + server.refusal + ")";
    }
    if (!server.is_master) return "the server is a replica";
    const bool known = reply.elements[1].text == server.run_id &&
                       reply.elements[2].text == server.replid;
    if (!known && !(reply.elements[3].text == "1" && server.is_durable)) {
      return "Redis restarted or failed over and may lack keys: confirm or "
             "rebuild the filter";
    }
  }
  return "";
}

}  // namespace deltabloom::internal
