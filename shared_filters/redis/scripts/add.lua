-- Sets the bits of keys in the live bitmap and in that of a running rebuild.
-- KEYS: live, descriptor. ARGV: id of the filter or '' (adopted), name of the
-- rebuild's bitmap, 1 if there are markers, probes k, number of markers n; then
-- words for BITFIELD: n times GET u1 and the offset of a marker; for each key k
-- times SET u1, the offset of a bit, 1.
-- Returns for each key the number of bits that changed; or -1: the descriptor
-- is of another filter; -2: a marker is missing: no bit was set.
-- One BITFIELD for many bits takes two thirds of the time of a SETBIT for each.
local live, id, probes, markers = KEYS[1], ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])
local state = redis.call('HMGET', KEYS[2], 'id', 'rebuild', 'durable')
if id ~= '' and state[1] ~= id then return -1 end
local first_set = 6 + 3 * markers
local function bitfield(key, from, to)
  return redis.call('BITFIELD', key, unpack(ARGV, from, to))
end
local function is_whole(key)
  for _, bit in ipairs(bitfield(key, 6, first_set - 1)) do
    if bit == 0 then return false end
  end
  return true
end
if ARGV[3] == '1' and not is_whole(live) then return -2 end
if state[3] and not is_durable() then redis.call('HDEL', KEYS[2], 'durable') end
local old, changed = bitfield(live, first_set, #ARGV), {}
for i = 1, #old, probes do
  local n = probes
  for j = i, i + probes - 1 do n = n - old[j] end
  changed[#changed + 1] = n
end
-- Without its markers it has expired, and the rebuild will fail.
if state[2] and is_whole(ARGV[2]) then bitfield(ARGV[2], first_set, #ARGV) end
return changed
