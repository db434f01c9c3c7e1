// A RocksDB database with Deltabloom's filters, from Go, by
// cgo and RocksDB's C interface.
//
//	go build -o database database.go && ./database FOLDER
package main

/*
#cgo pkg-config: deltabloom-rocksdb
#include <deltabloom/c.h>
#include <rocksdb/c.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"log"
	"os"
	"unsafe"
)

func check(problem *C.char) {
	if problem != nil {
		log.Fatal(C.GoString(problem))
	}
}

func main() {
	var problem *C.char
	options := C.rocksdb_options_create()
	C.rocksdb_options_set_create_if_missing(options, 1)
	filters := C.CString("bits_per_key=12")
	C.deltabloom_rocksdb_add_filters(options, filters, &problem)
	check(problem)
	db := C.rocksdb_open(options, C.CString(os.Args[1]), &problem)
	check(problem)

	write := C.rocksdb_writeoptions_create()
	for i := 0; i < 2000; i += 2 {
		key := C.CString(fmt.Sprintf("%06d", i))
		C.rocksdb_put(db, write, key, 6, key, 6, &problem)
		check(problem)
		C.free(unsafe.Pointer(key))
	}
	C.rocksdb_flush(db, C.rocksdb_flushoptions_create(), &problem)
	check(problem)

	read := C.rocksdb_readoptions_create()
	for i := 0; i < 1999; i++ {
		key := C.CString(fmt.Sprintf("%06d", i))
		var size C.size_t
		value := C.rocksdb_get(db, read, key, 6, &size, &problem)
		check(problem)
		if (value != nil) != (i%2 == 0) {
			log.Fatalf("key %d: found %v", i, value != nil)
		}
		C.rocksdb_free(unsafe.Pointer(value))
		C.free(unsafe.Pointer(key))
	}
	C.rocksdb_close(db)
	text := C.deltabloom_rocksdb_statistics(C.CString("text"), &problem)
	check(problem)
	fmt.Println(C.GoString(text))
}
