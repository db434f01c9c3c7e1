// The C interface from Go, by cgo: a policy in a database that is opened
// through the shared librocksdb.
package main

/*
#include <deltabloom/c.h>
#include <rocksdb/c.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"unsafe"
)

func fail(format string, arguments ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func policy(text string) (*C.rocksdb_filterpolicy_t, string) {
	options := C.CString(text)
	defer C.free(unsafe.Pointer(options))
	var problem *C.char
	made := C.deltabloom_rocksdb_filterpolicy(options, &problem)
	if problem != nil {
		defer C.free(unsafe.Pointer(problem))
		return nil, C.GoString(problem)
	}
	return made, ""
}

func check(problem *C.char) {
	if problem != nil {
		fail("%s", C.GoString(problem))
	}
}

func main() {
	if _, problem := policy("deltabloom:10:ribbon"); !strings.Contains(problem, "'ribbon'") {
		fail("a wrong layout: %q", problem)
	}
	filter, problem := policy("deltabloom:10:auto")
	if filter == nil {
		fail("%s", problem)
	}
	table := C.rocksdb_block_based_options_create()
	C.rocksdb_block_based_options_set_filter_policy(table, filter)
	options := C.rocksdb_options_create()
	C.rocksdb_options_set_block_based_table_factory(options, table)
	C.rocksdb_options_set_create_if_missing(options, 1)
	C.rocksdb_options_enable_statistics(options)
	path := C.CString(os.Args[1])
	var problemText *C.char
	db := C.rocksdb_open(options, path, &problemText)
	check(problemText)

	write := C.rocksdb_writeoptions_create()
	for i := 0; i < 2000; i += 2 {
		key := C.CString(fmt.Sprintf("%06d", i))
		C.rocksdb_put(db, write, key, 6, key, 6, &problemText)
		check(problemText)
		C.free(unsafe.Pointer(key))
	}
	C.rocksdb_flush(db, C.rocksdb_flushoptions_create(), &problemText)
	check(problemText)

	read := C.rocksdb_readoptions_create()
	for i := 0; i < 1999; i++ {
		key := C.CString(fmt.Sprintf("%06d", i))
		var size C.size_t
		value := C.rocksdb_get(db, read, key, 6, &size, &problemText)
		check(problemText)
		if (value != nil) != (i%2 == 0) {
			fail("key %d: found %v", i, value != nil)
		}
		C.rocksdb_free(unsafe.Pointer(value))
		C.free(unsafe.Pointer(key))
	}
	statistics := C.GoString(C.rocksdb_options_statistics_get_string(options))
	var useful int
	line := strings.SplitAfter(statistics, "rocksdb.bloom.filter.useful COUNT : ")
	fmt.Sscan(line[len(line)-1], &useful)
	if useful < 900 {
		fail("only %d lookups were turned away", useful)
	}
	C.rocksdb_close(db)
	fmt.Println("ok")
}
