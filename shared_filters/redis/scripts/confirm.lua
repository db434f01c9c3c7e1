-- The owner says that this server has every acknowledged key of a shard.
-- KEYS: descriptor. ARGV: id of the filter.
-- Returns 0; -1: the descriptor is of another filter.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return -1 end
local run_id, replid = identity()
local ends_durable = redis.call('HEXISTS', KEYS[1], 'durable') == 1 and not is_durable()
redis.call('HSET', KEYS[1], 'run_id', run_id, 'replid', replid)
if ends_durable then redis.call('HDEL', KEYS[1], 'durable') end
return 0
