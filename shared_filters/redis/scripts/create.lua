-- Makes the bitmaps of one shard and its descriptor.
-- KEYS: descriptor, bitmaps (newest generation first). ARGV: blocks of 64 bytes
-- (0: not local), offset of the marker, milliseconds to live (0: for ever), 1
-- to leave the bitmaps away until a rebuild makes them, then fields and values of the descriptor.
-- Returns 0, or the number of the key that exists already.
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return i end
end
local blocks, ttl = tonumber(ARGV[1]), tonumber(ARGV[3])
for i = 2, ARGV[4] == '1' and 1 or #KEYS do
  empty_bitmap(KEYS[i], blocks, ARGV[2])
  if ttl > 0 then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
end
for i = 5, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
local now = redis.call('TIME')
redis.call('HSET', KEYS[1], 'rotated_ms', now[1] .. string.format('%03d', math.floor(now[2] / 1000)))
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 0
