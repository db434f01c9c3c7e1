// Package deltabloom brings Deltabloom's filters to the RocksDB that this process has
// loaded, with grocksdb or any other binding.
//
// It opens the installed libdeltabloom_rocksdb_plugin.so, or the file that the
// environment variable DELTABLOOM_PLUGIN names, which finds the module for the version of
// that RocksDB. Call Register before a database is opened or a text of options is parsed:
//
//	if err := deltabloom.Register(); err != nil {
//		log.Print(err) // one line: what is missing, and the command that builds it
//	}
//	options, err := grocksdb.GetOptionsFromString(base,
//		"block_based_table_factory={filter_policy=deltabloom:10}")
//
// After an error RocksDB goes on with its own filters. All functions are safe for
// concurrent use.
package deltabloom

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

typedef int (*load_function)(const char*, char**);
typedef int (*set_function)(void*, const char*, char**);
typedef char* (*text_function)(const char*, char**);
typedef char* (*options_function)(const void*, char**);
typedef char* (*database_function)(void*, void*, char**);

static int call_load(void* f, char** error) { return ((load_function)f)(NULL, error); }
static int call_set(void* f, void* options, const char* text, char** error) {
  return ((set_function)f)(options, text, error);
}
static char* call_text(void* f, const char* text, char** error) {
  return ((text_function)f)(text, error);
}
static char* call_options(void* f, const void* options, char** error) {
  return ((options_function)f)(options, error);
}
static char* call_database(void* f, void* db, void* family, char** error) {
  return ((database_function)f)(db, family, error);
}
*/
import "C"

import (
	"errors"
	"os"
	"sync"
	"unsafe"
)

// The library, once it is open.
var (
	mutex  sync.Mutex
	plugin unsafe.Pointer
)

// function returns a function of deltabloom/load.h.
func function(name string) (unsafe.Pointer, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if plugin == nil {
		file := os.Getenv("DELTABLOOM_PLUGIN")
		if file == "" {
			file = "libdeltabloom_rocksdb_plugin.so"
		}
		cFile := C.CString(file)
		defer C.free(unsafe.Pointer(cFile))
		plugin = C.dlopen(cFile, C.RTLD_NOW|C.RTLD_LOCAL)
		if plugin == nil {
			return nil, errors.New("deltabloom: no filters of Deltabloom: " +
				C.GoString(C.dlerror()) + "; install Deltabloom's plugin for RocksDB, or name it in DELTABLOOM_PLUGIN")
		}
	}
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	found := C.dlsym(plugin, cName)
	if found == nil {
		return nil, errors.New("deltabloom: the plugin has no function " + name + ": it is of another version")
	}
	return found, nil
}

// taken returns the text of C, and frees it.
func taken(text *C.char) string {
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

func failure(line *C.char) error {
	if line == nil {
		return errors.New("deltabloom: out of memory")
	}
	return errors.New(taken(line))
}

// Register makes the policy known to RocksDB by name.
func Register() error {
	load, err := function("deltabloom_load")
	if err != nil {
		return err
	}
	var line *C.char
	if C.call_load(load, &line) == 0 {
		return failure(line)
	}
	return nil
}

// SetFilters sets the policy that a text names ("deltabloom:10") in the table factory of a
// rocksdb_options_t, whose other options stay as they are. What sets a table factory later
// replaces it.
func SetFilters(options unsafe.Pointer, text string) error {
	set, err := function("deltabloom_load_set_filters")
	if err != nil {
		return err
	}
	cText := C.CString(text)
	defer C.free(unsafe.Pointer(cText))
	var line *C.char
	if C.call_set(set, options, cText, &line) == 0 {
		return failure(line)
	}
	return nil
}

// withText calls a function that takes a text and returns one.
func withText(name, text string) (string, error) {
	call, err := function(name)
	if err != nil {
		return "", err
	}
	cText := C.CString(text)
	defer C.free(unsafe.Pointer(cText))
	var line *C.char
	result := C.call_text(call, cText, &line)
	if result == nil {
		return "", failure(line)
	}
	return taken(result), nil
}

// Check returns what the text of a filter policy, or of a collector of range filters
// ("deltabloom.range"), means, with all options; or what is wrong with it.
func Check(text string) (string, error) { return withText("deltabloom_load_check", text) }

// Statistics returns those of all filters in this process. Format is "json", "prometheus"
// or "text".
func Statistics(format string) (string, error) {
	return withText("deltabloom_load_statistics", format)
}

// FiltersOfOptions returns the text of the policy that a rocksdb_options_t has; an error if
// it has none, or one that is not Deltabloom's.
func FiltersOfOptions(options unsafe.Pointer) (string, error) {
	call, err := function("deltabloom_load_filters_of_options")
	if err != nil {
		return "", err
	}
	var line *C.char
	result := C.call_options(call, options, &line)
	if result == nil {
		return "", failure(line)
	}
	return taken(result), nil
}

// FiltersOfDatabase does the same for a rocksdb_t and one of its
// rocksdb_column_family_handle_t, or nil for the default column family.
func FiltersOfDatabase(db, family unsafe.Pointer) (string, error) {
	call, err := function("deltabloom_load_filters_of_database")
	if err != nil {
		return "", err
	}
	var line *C.char
	result := C.call_database(call, db, family, &line)
	if result == nil {
		return "", failure(line)
	}
	return taken(result), nil
}
