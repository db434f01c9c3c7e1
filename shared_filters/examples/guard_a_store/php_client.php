<?php
// Checks and fills a filter of scheme php-named-hashes, from PHP (64-bit) with
// nothing but its standard library:
//
//   php php_client.php HOST PORT NAME check|add KEY...
//
// Deltabloom made the filter: the names of its hashes are in Redis. Prints
// "absent KEY" or "may match KEY", or how many keys were added.

error_reporting(E_ALL & ~E_DEPRECATED);  // doubles that become integers

// docs/format.md: the first value, what each byte does to it,
// and what happens once at the end. DEK starts with the size of the key.
function hashes(): array
{
    $high = 0xFFFFFFFF << 28;
    return [
        'JS' => [1315423911, fn ($h, $c) => $h ^ (($h << 5) + $c + ($h >> 2))],
        'PJW' => [0, fn ($h, $c) => ($h << 4) + $c,
            fn ($h) => ($h & $high) != 0 ? ($h ^ (($h & $high) >> 24)) & ~$high : $h],
        'ELF' => [0, function ($h, $c) {
            $h = ($h << 4) + $c;
            $x = $h & 0xF0000000;
            return ($x != 0 ? $h ^ ($x >> 24) : $h) & ~$x;
        }],
        'BKDR' => [0, fn ($h, $c) => (int) ($h * 131 + $c)],
        'SDBM' => [0, fn ($h, $c) => (int) ($c + ($h << 6) + ($h << 16) - $h)],
        'DJB' => [5381, fn ($h, $c) => (int) (($h << 5) + $h) + $c],
        'DEK' => [null, fn ($h, $c) => (($h << 5) ^ ($h >> 27)) ^ $c],
        'FNV' => [2166136261, fn ($h, $c) => ((int) ($h * 16777619)) % 0xFFFFFFFF ^ $c],
    ];
}

// The bit of a key.
function offset(string $hash, string $key): int
{
    [$h, $step, $end] = hashes()[$hash] + [2 => fn ($h) => $h];
    $h ??= strlen($key);
    for ($i = 0; $i < strlen($key); ++$i) {
        $h = $step($h, ord($key[$i]));
    }
    return ($end($h) % 0xFFFFFFFF) & 0xFFFFFFFF;
}

// One command and its reply; an exception for an error.
function redis($socket, array $words)
{
    $bytes = '*' . count($words) . "\r\n";
    foreach ($words as $word) {
        $bytes .= '$' . strlen($word) . "\r\n" . $word . "\r\n";
    }
    if (fwrite($socket, $bytes) !== strlen($bytes)) {
        throw new RuntimeException('Redis closed the connection');
    }
    return reply($socket);
}

function reply($socket)
{
    $line = fgets($socket);
    if ($line === false) {
        throw new RuntimeException('no answer of Redis');
    }
    $rest = substr(rtrim($line, "\r\n"), 1);
    switch ($line[0]) {
        case '-':
            throw new RuntimeException($rest);
        case ':':
            return (int) $rest;
        case '$':
            return $rest === '-1' ? null
                : substr(stream_get_contents($socket, (int) $rest + 2), 0, -2);
        case '*':
            return array_map(fn () => reply($socket), array_fill(0, (int) $rest, 0));
        default:
            return $rest;
    }
}

// Sets the bits in the bitmap and in that of a rebuild, if one runs: both or
// neither. -1: the bits were lost.
const ADD = <<<'LUA'
local function whole(key) return redis.call('GETBIT', key, ARGV[2]) == 1 end
local function set(key) for i = 3, #ARGV do redis.call('SETBIT', key, ARGV[i], 1) end end
if not whole(KEYS[1]) then return -1 end
set(KEYS[1])
if redis.call('HGET', KEYS[2], 'rebuild') and whole(ARGV[1]) then set(ARGV[1]) end
return 0
LUA;

// Returns 0 if a bit is clear. Lost bits say nothing, and after a restart or a
// failover Redis may lack keys: then it returns 1.
const CHECK = <<<'LUA'
local known = redis.call('HMGET', KEYS[2], 'run_id', 'replid')
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
if not string.find(info, 'run_id:' .. tostring(known[1]), 1, true)
  or not string.find(info, 'master_replid:' .. tostring(known[2]), 1, true)
  or redis.call('GETBIT', KEYS[1], ARGV[1]) == 0 then return 1 end
for i = 2, #ARGV do
  if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end
end
return 1
LUA;

function run(string $host, string $port, string $name, string $verb, array $keys): void
{
    $socket = fsockopen($host, (int) $port, $code, $message, 1.0);
    if ($socket === false) {
        throw new RuntimeException("$host:$port: $message");
    }
    stream_set_timeout($socket, 5);
    $companion = str_contains($name, '{') ? $name : '{' . $name . '}';
    [$scheme, $names] = redis($socket, ['HMGET', "$companion:deltabloom", 'scheme', 'hashes']);
    if ($scheme !== 'php-named-hashes') {
        throw new RuntimeException("$name: no filter that this program can read");
    }
    $marker = '4294967295';  // the last bit
    foreach ($keys as $key) {
        $bits = array_map(fn ($hash) => (string) offset($hash, $key), explode(',', $names));
        if ($verb === 'check') {  // false only if the key was not added
            $words = ['EVAL', CHECK, '2', $name, "$companion:deltabloom", $marker, ...$bits];
            echo redis($socket, $words) === 0 ? 'absent ' : 'may match ', $key, "\n";
        } elseif (redis($socket, ['EVAL', ADD, '2', $name, "$companion:deltabloom",
                "$companion:rebuild", $marker, ...$bits]) !== 0) {
            throw new RuntimeException("$name: the bits are lost; rebuild the filter");
        }
    }
    if ($verb === 'add') {
        echo 'added ', count($keys), "\n";
    }
}

if (realpath($argv[0]) === __FILE__) {
    if ($argc < 5 || !in_array($argv[4], ['check', 'add'], true)) {
        fwrite(STDERR, "usage: php_client.php HOST PORT NAME check|add KEY...\n");
        exit(2);
    }
    try {
        run($argv[1], $argv[2], $argv[3], $argv[4], array_slice($argv, 5));
    } catch (RuntimeException $error) {
        fwrite(STDERR, "php_client.php: {$error->getMessage()}\n");
        exit(1);
    }
}
