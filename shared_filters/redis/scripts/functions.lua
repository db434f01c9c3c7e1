-- This server: run_id and master_replid. Fails if the user may not run INFO:
-- call it before any write.
local function identity()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
    string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
end
-- Whether this server has an AOF and no replica can copy its data. INFO cannot
-- distinguish a master that restarted from a promoted replica that restarted.
local function is_durable()
  local commands = redis.call('COMMAND', 'INFO', 'PSYNC', 'SYNC')
  return not (commands[1] or commands[2]) and
    string.find(redis.call('INFO', 'persistence'), 'aof_enabled:1', 1, true) ~= nil
end
-- A bitmap that holds no key: nothing but markers, the first bit of each block
-- of 64 bytes, or the bit at `marker`. The key must not exist. Must be the first
-- write of a script: only that one is refused at maxmemory.
local function empty_bitmap(key, blocks, marker)
  if blocks == 0 then
    redis.call('SETBIT', key, marker, 1)
    return
  end
  local block = '\128' .. string.rep('\0', 63)
  -- The last block first, so that the string gets its size at once.
  redis.call('SETRANGE', key, string.format('%.0f', (blocks - 1) * 64), block)
  local most = math.min(blocks, 16384)
  local piece = string.rep(block, most)
  for at = 0, blocks - 1, most do
    redis.call('SETRANGE', key, string.format('%.0f', at * 64),
               string.sub(piece, 1, (blocks - at) * 64))
  end
end
