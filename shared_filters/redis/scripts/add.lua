-- Sets the bits of keys in the live bitmap and in that of a running rebuild.
-- KEYS: live, descriptor. ARGV: id of the filter or '' (adopted), name of the
-- rebuild's bitmap, 1 if there is a marker, probes k; then for each key its
-- marker's offset and k offsets.
-- Returns for each key the number of bits that changed; or -1: the descriptor
-- is of another filter; -2: the marker is missing, nothing was set for any key.
local live, id, marked = KEYS[1], ARGV[1], ARGV[3] == '1'
local step = tonumber(ARGV[4]) + 1
local state = redis.call('HMGET', KEYS[2], 'id', 'rebuild')
if id ~= '' and state[1] ~= id then return -1 end
if marked then
  local last
  for i = 5, #ARGV, step do
    if ARGV[i] ~= last and redis.call('GETBIT', live, ARGV[i]) == 0 then return -2 end
    last = ARGV[i]
  end
end
local changed = {}
for i = 5, #ARGV, step do
  local n = 0
  for j = i + 1, i + step - 1 do
    n = n + 1 - redis.call('SETBIT', live, ARGV[j], 1)
  end
  changed[#changed + 1] = n
end
if state[2] then
  local rebuilt = ARGV[2]
  for i = 5, #ARGV, step do
    -- Without its marker it has expired, and the rebuild will fail.
    if redis.call('GETBIT', rebuilt, ARGV[i]) == 0 then break end
    for j = i + 1, i + step - 1 do
      redis.call('SETBIT', rebuilt, ARGV[j], 1)
    end
  end
end
return changed
