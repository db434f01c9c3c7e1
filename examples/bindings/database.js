// A RocksDB database with Deltabloom's filters, from Node, by
// the package koffi and RocksDB's C interface.
//
//   npm install koffi && node database.js FOLDER [LIBDELTABLOOM_ROCKSDB]
const koffi = require("koffi");

const folder = process.argv[2];
// Deltabloom's library loads RocksDB's, whose functions are found by its name, too.
const deltabloom = koffi.load(process.argv[3] ?? "libdeltabloom_rocksdb.so");
const rocksdb = koffi.load("librocksdb.so");

// Calls a function whose last argument is `char** errptr`.
function call(result, library, name, types, ...values) {
  const error = [null];
  const value = library.func(name, result, [...types, koffi.out("char**")])(...values, error);
  if (error[0] !== null) throw new Error(`${name}: ${error[0]}`);
  return value;
}
const make = (name) => rocksdb.func(`void* ${name}()`)();

const options = make("rocksdb_options_create");
rocksdb.func("void rocksdb_options_set_create_if_missing(void*, uchar)")(options, 1);
call("uchar", deltabloom, "deltabloom_rocksdb_add_filters", ["void*", "str"],
  options, "bits_per_key=12");
const db = call("void*", rocksdb, "rocksdb_open", ["void*", "str"], options, folder);

const write = make("rocksdb_writeoptions_create");
const keyOf = (i) => String(i).padStart(6, "0");
for (let i = 0; i < 2000; i += 2) {
  call("void", rocksdb, "rocksdb_put", ["void*", "void*", "str", "size_t", "str", "size_t"],
    db, write, keyOf(i), 6, keyOf(i), 6);
}
call("void", rocksdb, "rocksdb_flush", ["void*", "void*"], db, make("rocksdb_flushoptions_create"));

const read = make("rocksdb_readoptions_create");
for (let i = 0; i < 1999; ++i) {
  const value = call("void*", rocksdb, "rocksdb_get",
    ["void*", "void*", "str", "size_t", koffi.out("size_t*")], db, read, keyOf(i), 6, [0]);
  if ((value !== null) !== (i % 2 === 0)) throw new Error(`key ${i}: found ${value !== null}`);
}
rocksdb.func("void rocksdb_close(void*)")(db);
console.log(call("str", deltabloom, "deltabloom_rocksdb_statistics", ["str"], "text"));
