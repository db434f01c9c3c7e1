-- Makes the bitmap of one shard and its descriptor.
-- KEYS: descriptor, bitmap (absent for the root descriptor of a filter in
-- shards). ARGV: blocks of 64 bytes (0: not local), offset of the marker,
-- milliseconds to live (0: for ever), 1 to make no bitmap until a rebuild does,
-- 1 if durable, bytes for which there must be room, then fields and values of
-- the descriptor.
-- Returns 0, or the number of the key that exists already; -6: durable, and
-- the server is not; -8: no room.
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return i end
end
local run_id, replid = identity()
if ARGV[5] == '1' and not is_durable() then return -6 end
-- Without maxmemory Redis takes what the machine does not have, and is killed.
local memory = redis.call('INFO', 'memory')
local function field(name) return tonumber(string.match(memory, name .. ':(%d+)')) or 0 end
local room = field('maxmemory')
if room == 0 then room = field('total_system_memory') - field('used_memory') end
if room > 0 and tonumber(ARGV[6]) > room then return -8 end
local ttl = tonumber(ARGV[3])
if KEYS[2] and ARGV[4] ~= '1' then
  empty_bitmap(KEYS[2], tonumber(ARGV[1]), ARGV[2])
  if ttl > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
end
redis.call('HSET', KEYS[1], 'run_id', run_id, 'replid', replid, unpack(ARGV, 7))
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 0
