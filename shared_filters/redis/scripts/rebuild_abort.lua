-- KEYS: descriptor, the rebuild's bitmap, the uploaded one. ARGV: token.
redis.call('UNLINK', KEYS[3])
if redis.call('HGET', KEYS[1], 'rebuild') ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[2])
redis.call('HDEL', KEYS[1], 'rebuild')
return 1
