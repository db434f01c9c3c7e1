-- Keeps a rebuild alive, or ends it.
-- KEYS: descriptor, the rebuild's bitmap, the uploaded one. ARGV: token, lease
-- in milliseconds (0: it ends), 1 if the bitmap is adopted.
-- Returns 0; -4 if the rebuild is lost.
redis.call('PEXPIRE', KEYS[3], ARGV[2])
if redis.call('HGET', KEYS[1], 'rebuild') ~= ARGV[1] then return -4 end
if ARGV[2] == '0' then redis.call('HDEL', KEYS[1], 'rebuild') end
if redis.call('PEXPIRE', KEYS[2], ARGV[2]) == 0 then return -4 end
if ARGV[3] == '1' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
