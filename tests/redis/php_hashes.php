<?php
// PHP's own answers for the hashes of scheme php-named-hashes, written from the
// table in docs/shared_filters_format.md:
//
//   php tests/redis/php_hashes.php > tests/data/php_hashes.csv
//   php tests/redis/php_hashes.php KEY_HEX...        these keys instead
//
// Lines of hash, key in hexadecimal, offset.

error_reporting(E_ALL & ~E_DEPRECATED);  // doubles that become integers

// Every byte of the key changes the hash; $fold runs once at the end.
function over(string $key, $hash, callable $step, ?callable $fold = null): int
{
    foreach (str_split($key) as $char) {
        if ($char !== '') {
            $hash = $step($hash, ord($char));
        }
    }
    if ($fold !== null) {
        $hash = $fold($hash);
    }
    return ($hash % 0xFFFFFFFF) & 0xFFFFFFFF;
}

const HIGH = 0xFFFFFFFF << 28;

$hashes = [
    'JS' => fn ($key) => over($key, 1315423911, fn ($h, $c) => $h ^ (($h << 5) + $c + ($h >> 2))),
    'PJW' => fn ($key) => over($key, 0, fn ($h, $c) => ($h << 4) + $c, function ($h) {
        $test = $h & HIGH;
        return $test != 0 ? ($h ^ ($test >> 24)) & ~HIGH : $h;
    }),
    'ELF' => fn ($key) => over($key, 0, function ($h, $c) {
        $h = ($h << 4) + $c;
        $x = $h & 0xF0000000;
        if ($x != 0) {
            $h ^= $x >> 24;
        }
        return $h & ~$x;
    }),
    'BKDR' => fn ($key) => over($key, 0, fn ($h, $c) => (int) ($h * 131 + $c)),
    'SDBM' => fn ($key) => over($key, 0, fn ($h, $c) => (int) ($c + ($h << 6) + ($h << 16) - $h)),
    'DJB' => fn ($key) => over($key, 5381, fn ($h, $c) => (int) (($h << 5) + $h) + $c),
    'DEK' => fn ($key) => over($key, strlen($key), fn ($h, $c) => (($h << 5) ^ ($h >> 27)) ^ $c),
    'FNV' => fn ($key) => over($key, 2166136261, fn ($h, $c) => ((int) ($h * 16777619)) % 0xFFFFFFFF ^ $c),
];

$keys = ['', 'a', 'A', 'ab', 'abc', 'foobar', 'Hello, World', '0123456789', 'user0000012345',
    "\x00", "\x80", "\xff\x80\x00", str_repeat("\xff", 9), str_repeat("\xff", 16),
    str_repeat("\xff", 300), 'https://example.org/a/rather/long/path?with=query&and=more'];
// The same keys every time, of 1 to 64 bytes.
mt_srand(16);
for ($size = 1; $size <= 64; ++$size) {
    $key = '';
    for ($i = 0; $i < $size; ++$i) {
        $key .= chr(mt_rand(0, 255));
    }
    $keys[] = $key;
}
if ($argc > 1) {
    $keys = array_map('hex2bin', array_slice($argv, 1));
}

echo "hash,key_hex,offset\n";
foreach ($hashes as $name => $hash) {
    foreach ($keys as $key) {
        echo $name, ',', bin2hex($key), ',', $hash($key), "\n";
    }
}
