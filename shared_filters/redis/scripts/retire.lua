-- The bits of a shard go; whoever knows the filter by its id looks again.
-- KEYS: descriptor, the rebuild's bitmap, bitmaps. ARGV: id, 1 for the root
-- descriptor: then the filter that takes the place.
-- Returns 0; -1: the descriptor is of another filter.
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return -1 end
redis.call('HDEL', KEYS[1], 'id', 'rebuild')
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'moved_to', ARGV[3])
else
  redis.call('DEL', KEYS[1])
end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 0
