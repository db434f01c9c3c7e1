-- This server: run_id, master_replid, and whether it has replicas or was
-- promoted. Fails if the user may not run INFO: call it before any write.
local function identity()
  local replication = redis.call('INFO', 'replication')
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
    string.match(replication, 'master_replid:(%x+)'),
    not (string.find(replication, 'connected_slaves:0%s') and
         string.find(replication, 'master_replid2:0+%s'))
end
