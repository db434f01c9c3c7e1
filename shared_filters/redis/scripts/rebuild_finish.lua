-- Puts the uploaded bitmap, and what writers added meanwhile, in the place of
-- the live one.
-- KEYS: live, descriptor, the rebuild's bitmap, the uploaded one. ARGV: token,
-- bits that must be set in the upload, 1 if the bitmap is adopted.
-- Returns 0; -4: the rebuild was lost (its lease ran out, or another took
-- over); -5: the upload is not what was sent.
local live, descriptor, rebuilt, upload = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('HGET', descriptor, 'rebuild') ~= ARGV[1] then return -4 end
if redis.call('EXISTS', rebuilt) == 0 then return -4 end
if redis.call('BITCOUNT', upload) ~= tonumber(ARGV[2]) then return -5 end
redis.call('BITOP', 'OR', rebuilt, rebuilt, upload)
-- The name keeps the time it had to live; if its bits were lost, the
-- descriptor knows it.
local ttl = redis.call('PTTL', live)
if ttl == -2 and ARGV[3] ~= '1' then ttl = redis.call('PTTL', descriptor) end
if ttl > 0 then
  redis.call('PEXPIRE', rebuilt, ttl)
else
  redis.call('PERSIST', rebuilt)
end
redis.call('RENAME', rebuilt, live)
redis.call('UNLINK', upload)
redis.call('HDEL', descriptor, 'rebuild')
if ARGV[3] ~= '1' then redis.call('HINCRBY', descriptor, 'rebuilds', 1) end
return 0
