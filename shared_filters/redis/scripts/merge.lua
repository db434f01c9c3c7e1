-- Adds an uploaded bitmap to the live one, which keeps its time to live.
-- KEYS: live, the uploaded one. ARGV: bits that must be set in the upload.
-- Returns 0; -5: the upload is not what was sent.
if redis.call('BITCOUNT', KEYS[2]) ~= tonumber(ARGV[1]) then return -5 end
local ttl = redis.call('PTTL', KEYS[1])
redis.call('BITOP', 'OR', KEYS[1], KEYS[1], KEYS[2])
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
redis.call('UNLINK', KEYS[2])
return 0
