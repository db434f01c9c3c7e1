-- The owner says that this server has every acknowledged key of a shard.
-- KEYS: descriptor. ARGV: id of the filter.
-- Returns 0; -1: the descriptor is of another filter.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return -1 end
local run_id, replid, replicates = identity()
redis.call('HSET', KEYS[1], 'run_id', run_id, 'replid', replid)
if replicates or redis.call('HGET', KEYS[1], 'durable') == '0' then
  redis.call('HDEL', KEYS[1], 'durable')
end
return 0
