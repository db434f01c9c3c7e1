"""usage: plyvel_database.py PATH (fill|read): a program with LevelDB's Bloom filter"""

import sys

import plyvel

KEYS = 100000
path, mode = sys.argv[1:]
db = plyvel.DB(path, create_if_missing=True, bloom_filter_bits=10)
if mode == "fill":
    with db.write_batch() as batch:
        for i in range(KEYS):
            batch.put(b"key%09d" % (2 * i), b"value")
    db.compact_range()
lost = sum(db.get(b"key%09d" % (2 * i)) is None for i in range(KEYS))
found = sum(db.get(b"key%09d" % (2 * i + 1)) is not None for i in range(KEYS))
db.close()
assert found == 0
with open("/proc/self/maps") as maps:
    replaced = "/leveldb.so" in maps.read()
print(f"lost={lost} absent={KEYS} replaced={replaced}")
