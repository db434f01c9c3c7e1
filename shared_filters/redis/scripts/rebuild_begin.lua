-- From here on adds fill a second bitmap, too.
-- KEYS: descriptor, the rebuild's bitmap. ARGV: id of the filter or '', token of
-- the rebuild, lease in milliseconds, 1 to take over, blocks, offset of the
-- marker.
-- Returns run_id and master_replid of this server; or -1: the descriptor is of
-- another filter; -3: another rebuild runs.
if ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return -1 end
local other = redis.call('HGET', KEYS[1], 'rebuild')
if other and other ~= ARGV[2] and ARGV[4] ~= '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  return -3
end
local run_id, replid = identity()
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('UNLINK', KEYS[2]) end
empty_bitmap(KEYS[2], tonumber(ARGV[5]), ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('HSET', KEYS[1], 'rebuild', ARGV[2])
-- The descriptor of an adopted bitmap lives only as long as a rebuild.
if ARGV[1] == '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return {run_id, replid}
