-- Starts a generation: each bitmap takes the name of the next older one, the
-- oldest goes.
-- KEYS: descriptor, the rebuild's bitmap, bitmaps (newest first). ARGV: id,
-- least age of the newest in milliseconds (0: at once), blocks, offset of the
-- marker.
-- Returns 1; 0: too early; -1: the descriptor is of another filter; -2: a
-- bitmap is missing; -3: a rebuild runs.
local state = redis.call('HMGET', KEYS[1], 'id', 'rebuild', 'rotated_ms')
if state[1] ~= ARGV[1] then return -1 end
if state[2] and redis.call('EXISTS', KEYS[2]) == 1 then return -3 end
local time = redis.call('TIME')
local now = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
if tonumber(now) - tonumber(state[3]) < tonumber(ARGV[2]) then return 0 end
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return -2 end
end
empty_bitmap(KEYS[2], tonumber(ARGV[3]), ARGV[4])
for i = #KEYS, 4, -1 do redis.call('RENAME', KEYS[i - 1], KEYS[i]) end
redis.call('RENAME', KEYS[2], KEYS[3])
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then redis.call('PEXPIRE', KEYS[3], ttl) end
redis.call('HSET', KEYS[1], 'rotated_ms', now)
return 1
