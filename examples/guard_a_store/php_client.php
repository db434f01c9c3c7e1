<?php
// Asks and fills a filter of scheme php-named-hashes, from PHP (64-bit) with
// nothing but its standard library:
//
//   php php_client.php HOST PORT NAME check|add KEY...
//   php php_client.php --adopted HOST PORT NAME check|add KEY...
//
// The first form is for filters that Deltabloom made: it reads the names of the
// hashes from Redis. The second is for bitmaps that only programs like this one
// fill. Prints "absent KEY" or "may match KEY", or how many keys were added.

error_reporting(E_ALL & ~E_DEPRECATED);  // doubles that become integers

// One connection; the Redis protocol, as far as it is needed.
final class Redis
{
    private $socket;

    public function __construct(string $host, int $port)
    {
        $this->socket = fsockopen($host, $port, $code, $message, 1.0);
        if ($this->socket === false) {
            throw new RuntimeException("$host:$port: $message");
        }
        stream_set_timeout($this->socket, 5);
    }

    // Many commands in one round trip.
    public function run(array $commands): array
    {
        $bytes = '';
        foreach ($commands as $words) {
            $bytes .= '*' . count($words) . "\r\n";
            foreach ($words as $word) {
                $bytes .= '$' . strlen($word) . "\r\n" . $word . "\r\n";
            }
        }
        for ($sent = 0; $sent < strlen($bytes); $sent += $written) {
            $written = fwrite($this->socket, substr($bytes, $sent));
            if ($written === false || $written === 0) {
                throw new RuntimeException('Redis closed the connection');
            }
        }
        $replies = array_map(fn () => $this->read(), $commands);
        foreach ($replies as $reply) {
            if ($reply instanceof RuntimeException) {
                throw $reply;
            }
        }
        return $replies;
    }

    private function read()
    {
        $line = fgets($this->socket);
        if ($line === false) {
            throw new RuntimeException('no answer of Redis');
        }
        $rest = substr(rtrim($line, "\r\n"), 1);
        switch ($line[0]) {
            case '-':
                return new RuntimeException($rest);
            case ':':
                return (int) $rest;
            case '$':
                if ((int) $rest < 0) {
                    return null;
                }
                $bytes = stream_get_contents($this->socket, (int) $rest + 2);
                return substr($bytes, 0, -2);
            case '*':
                $list = [];
                for ($i = (int) $rest; $i > 0; --$i) {
                    $list[] = $this->read();
                }
                return $list;
            default:
                return $rest;
        }
    }
}

// The hashes of a new filter by default; docs/shared_filters_format.md has the others.
const HASHES = ['BKDR', 'SDBM', 'JS'];

function offset(string $hash, string $key): int
{
    $h = $hash === 'JS' ? 1315423911 : 0;
    for ($i = 0; $i < strlen($key); ++$i) {
        $c = ord($key[$i]);
        switch ($hash) {
            case 'BKDR':
                $h = (int) ($h * 131 + $c);
                break;
            case 'SDBM':
                $h = (int) ($c + ($h << 6) + ($h << 16) - $h);
                break;
            case 'JS':
                $h ^= ($h << 5) + $c + ($h >> 2);
                break;
            default:
                throw new RuntimeException("hash $hash: not in this program");
        }
    }
    return ($h % 0xFFFFFFFF) & 0xFFFFFFFF;
}

// Sets the bits in the bitmap and in that of a rebuild, if one runs: both or
// neither. -1: the bits were lost.
const ADD = <<<'LUA'
local function whole(key) return ARGV[2] == '-1' or redis.call('GETBIT', key, ARGV[2]) == 1 end
local function set(key) for i = 3, #ARGV do redis.call('SETBIT', key, ARGV[i], 1) end end
if not whole(KEYS[1]) then return -1 end
set(KEYS[1])
if redis.call('HGET', KEYS[2], 'rebuild') and whole(ARGV[1]) then set(ARGV[1]) end
return 0
LUA;

// Returns 0 if a bit is clear. Lost bits say nothing, and after a restart or a
// failover Redis may lack keys: then it returns 1.
const CHECK = <<<'LUA'
local function check()
  if ARGV[1] == '-1' then
    if redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
  else
    local known = redis.call('HMGET', KEYS[2], 'run_id', 'replid')
    if not string.find(redis.call('INFO', 'server'), 'run_id:' .. tostring(known[1]), 1, true)
      or not string.find(redis.call('INFO', 'replication'),
                         'master_replid:' .. tostring(known[2]), 1, true)
      or redis.call('GETBIT', KEYS[1], ARGV[1]) == 0 then return 1 end
  end
  for i = 2, #ARGV do
    if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end
  end
  return 1
end
return check()
LUA;

final class Filter
{
    private const MARKER = '4294967295';  // the last bit, in filters of Deltabloom's
    private string $companion;
    private array $hashes = HASHES;

    public function __construct(private Redis $redis, private string $name, private bool $adopted)
    {
        $this->companion = str_contains($name, '{') ? $name : '{' . $name . '}';
        if ($adopted) {
            return;
        }
        $fields = ['scheme', 'hashes'];
        [$values] = $redis->run([['HMGET', "$this->companion:deltabloom", ...$fields]]);
        if ($values[0] !== 'php-named-hashes') {
            throw new RuntimeException("$name: no filter that this program can read");
        }
        $this->hashes = explode(',', $values[1]);
    }

    // False only if the key was not added. One round trip.
    public function mayMatch(string $key): bool
    {
        [$reply] = $this->redis->run([['EVAL', CHECK, '2', $this->name, "$this->companion:deltabloom",
            $this->adopted ? '-1' : self::MARKER, ...$this->offsets($key)]]);
        return $reply !== 0;
    }

    private function offsets(string $key): array
    {
        return array_map(fn ($hash) => (string) offset($hash, $key), $this->hashes);
    }

    public function add(string $key): void
    {
        [$reply] = $this->redis->run([['EVAL', ADD, '2', $this->name, "$this->companion:deltabloom",
            "$this->companion:rebuild", $this->adopted ? '-1' : self::MARKER, ...$this->offsets($key)]]);
        if ($reply !== 0) {
            throw new RuntimeException("$this->name: the bits are lost; rebuild the filter");
        }
    }
}

$arguments = array_slice($argv, 1);
$adopted = ($arguments[0] ?? '') === '--adopted';
if ($adopted) {
    array_shift($arguments);
}
if (count($arguments) < 4 || !in_array($arguments[3], ['check', 'add'], true)) {
    fwrite(STDERR, "usage: php_client.php [--adopted] HOST PORT NAME check|add KEY...\n");
    exit(2);
}
[$host, $port, $name, $verb] = $arguments;
$keys = array_slice($arguments, 4);
try {
    $filter = new Filter(new Redis($host, (int) $port), $name, $adopted);
    foreach ($keys as $key) {
        if ($verb === 'add') {
            $filter->add($key);
        } else {
            echo $filter->mayMatch($key) ? 'may match ' : 'absent ', $key, "\n";
        }
    }
    if ($verb === 'add') {
        echo 'added ', count($keys), "\n";
    }
} catch (RuntimeException $error) {
    fwrite(STDERR, "php_client.php: {$error->getMessage()}\n");
    exit(1);
}
