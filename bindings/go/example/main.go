// Fills a database through RocksDB's C functions, as grocksdb calls them, looks up keys that
// are there and keys that are not, and reopens it from its OPTIONS file.
package main

/*
#cgo LDFLAGS: -lrocksdb
#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>
*/
import "C"

import (
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"unsafe"

	"deltabloom"
)

const keys = 300000

func check(line *C.char) {
	if line != nil {
		log.Fatal(C.GoString(line))
	}
}

// key returns one of 13 bytes.
func key(i int) *C.char { return C.CString(fmt.Sprintf("user%09d", i)) }

func useful(options *C.rocksdb_options_t) int {
	text := C.GoString(C.rocksdb_options_statistics_get_string(options))
	found := regexp.MustCompile(`rocksdb\.bloom\.filter\.useful COUNT : (\d+)`).FindStringSubmatch(text)
	count, err := strconv.Atoi(found[1])
	if err != nil {
		log.Fatal(err)
	}
	return count
}

// lookUp looks up all keys, and as many absent ones.
func lookUp(db *C.rocksdb_t, options *C.rocksdb_options_t) {
	read := C.rocksdb_readoptions_create()
	defer C.rocksdb_readoptions_destroy(read)
	lost := 0
	before := useful(options)
	for i := 0; i < 2*keys; i++ {
		var line *C.char
		var size C.size_t
		k := key(i)
		value := C.rocksdb_get(db, read, k, 13, &size, &line)
		C.free(unsafe.Pointer(k))
		check(line)
		if (value == nil) != (i%2 == 1) {
			lost++
		}
		C.rocksdb_free(unsafe.Pointer(value))
	}
	// The last absent key is beyond all tables.
	fmt.Printf("%d keys lost, %d false positives of %d absent keys\n",
		lost, keys-1-(useful(options)-before), keys)
	if lost > 0 {
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: example DB POLICY, such as deltabloom:10")
	}
	path := C.CString(os.Args[1])
	if err := deltabloom.Register(); err != nil {
		log.Fatal(err)
	}
	// RocksDB takes a text that it does not know for "no filter" without an error.
	if _, err := deltabloom.Check(os.Args[2]); err != nil {
		log.Fatal(err)
	}
	options := C.rocksdb_options_create()
	text := C.CString("create_if_missing=true;block_based_table_factory={filter_policy=" + os.Args[2] + "}")
	var line *C.char
	C.rocksdb_get_options_from_string(options, text, options, &line)
	check(line)
	C.rocksdb_options_enable_statistics(options)
	db := C.rocksdb_open(options, path, &line)
	check(line)
	filters, err := deltabloom.FiltersOfDatabase(unsafe.Pointer(db), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("filters:", regexp.MustCompile(`\bbits_per_key=[^;]*`).FindString(filters))

	write := C.rocksdb_writeoptions_create()
	for i := 0; i < keys; i++ {
		k := key(2 * i)
		C.rocksdb_put(db, write, k, 13, k, 13, &line)
		C.free(unsafe.Pointer(k))
		check(line)
	}
	C.rocksdb_compact_range(db, nil, 0, nil, 0)
	lookUp(db, options)
	C.rocksdb_close(db)

	// Reopened from its OPTIONS file.
	env := C.rocksdb_create_default_env()
	cache := C.rocksdb_cache_create_lru(8 << 20)
	var loaded *C.rocksdb_options_t
	var families C.size_t
	var names **C.char
	var familyOptions **C.rocksdb_options_t
	C.rocksdb_load_latest_options(path, env, false, cache, &loaded, &families, &names, &familyOptions, &line)
	check(line)
	C.rocksdb_options_enable_statistics(loaded)
	var handle *C.rocksdb_column_family_handle_t
	db = C.rocksdb_open_column_families(loaded, path, 1, names, familyOptions, &handle, &line)
	check(line)
	if _, err := deltabloom.FiltersOfDatabase(unsafe.Pointer(db), unsafe.Pointer(handle)); err != nil {
		log.Fatal(err)
	}
	lookUp(db, loaded)
	statistics, err := deltabloom.Statistics("text")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(statistics)
}
