-- Replaces the live bitmap by the uploaded one and what writers added since the
-- rebuild began.
-- KEYS: live, descriptor, the rebuild's bitmap, the uploaded one. ARGV: token,
-- bits that must be set in the upload, 1 if the bitmap is adopted, run_id and
-- master_replid when the rebuild began, 1 to keep the bits of the live bitmap,
-- 1 if the upload has every key, offset of a marker.
-- Returns 0; -2: the live bitmap is lost, and the upload has not every key; -4:
-- the rebuild was lost (lease over, or taken over); -5: the upload is not what
-- was sent; -7: the server restarted, or another took over.
local live, descriptor, rebuilt, upload = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local adopted, complete = ARGV[3] == '1', ARGV[7] == '1'
local run_id, replid = identity()
if run_id ~= ARGV[4] or replid ~= ARGV[5] then return -7 end
local state = redis.call('HMGET', descriptor, 'rebuild', 'durable')
if state[1] ~= ARGV[1] or redis.call('EXISTS', rebuilt) == 0 then return -4 end
local ends_durable = state[2] and not is_durable()
if redis.call('BITCOUNT', upload) ~= tonumber(ARGV[2]) then return -5 end
if not (adopted or complete) and redis.call('GETBIT', live, ARGV[8]) == 0 then return -2 end
if ARGV[6] == '1' then
  redis.call('BITOP', 'OR', rebuilt, rebuilt, upload, live)
else
  redis.call('BITOP', 'OR', rebuilt, rebuilt, upload)
end
-- The live bitmap's time to live; if that is lost, the descriptor's.
local ttl = redis.call('PTTL', live)
if ttl == -2 and not adopted then ttl = redis.call('PTTL', descriptor) end
if ttl > 0 then
  redis.call('PEXPIRE', rebuilt, ttl)
else
  redis.call('PERSIST', rebuilt)
end
redis.call('RENAME', rebuilt, live)
redis.call('UNLINK', upload)
redis.call('HDEL', descriptor, 'rebuild')
if ends_durable then redis.call('HDEL', descriptor, 'durable') end
if complete and not adopted then
  redis.call('HSET', descriptor, 'run_id', run_id, 'replid', replid)
  redis.call('HINCRBY', descriptor, 'rebuilds', 1)
end
return 0
