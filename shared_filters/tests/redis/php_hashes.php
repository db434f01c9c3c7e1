<?php
// PHP's own answers for the hashes of scheme php-named-hashes, by the example
// client: lines of hash, key in hexadecimal, offset.
//
//   php shared_filters/tests/redis/php_hashes.php > shared_filters/tests/data/php_hashes.csv

require __DIR__ . '/../../examples/guard_a_store/php_client.php';

$keys = ['', 'a', 'A', 'ab', 'abc', 'foobar', 'Hello, World', '0123456789', 'user0000012345',
    "\x00", "\x80", "\xff\x80\x00", str_repeat("\xff", 9), str_repeat("\xff", 16),
    str_repeat("\xff", 300), 'https://example.org/a/rather/long/path?with=query&and=more'];
// The keys are the same every time; they have 1 to 64 bytes.
mt_srand(16);
for ($size = 1; $size <= 64; ++$size) {
    $bytes = array_map(fn () => chr(mt_rand(0, 255)), range(1, $size));
    $keys[] = implode('', $bytes);
}

echo "hash,key_hex,offset\n";
foreach (array_keys(hashes()) as $name) {
    foreach ($keys as $key) {
        echo $name, ',', bin2hex($key), ',', offset($name, $key), "\n";
    }
}
