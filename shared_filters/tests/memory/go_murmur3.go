// Writes shared_filters/tests/data/go_murmur3.csv: the offsets that Go services set for a
// key, in filters of m bits with k probes. With Debian's golang-go and
// golang-github-spaolacci-murmur3-dev:
//
//	GOPATH=/usr/share/gocode GO111MODULE=off go run go_murmur3.go
//
// The hash is the library that go-zero's core/bloom uses, the offsets follow
// its getLocations.
package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spaolacci/murmur3"
)

func offsets(data []byte, bits uint64, probes int) string {
	var words []string
	for i := 0; i < probes; i++ {
		withNumber := append(append([]byte{}, data...), byte(i))
		words = append(words, fmt.Sprint(murmur3.Sum64(withNumber)%bits))
	}
	return strings.Join(words, " ")
}

func main() {
	fmt.Println("key_hex,bits,probes,offsets")
	keys := [][]byte{{}, []byte("hello"), []byte("caf\u00e9"), {0}, {0xff, 0xfe}}
	for size := 10; size <= 34; size++ {
		key := make([]byte, size)
		for i := range key {
			key[i] = byte(size*31 + i*i*7)
		}
		keys = append(keys, key)
	}
	sizes := []uint64{1, 1000, 1024, 20000000, 1<<32 - 1, 1 << 32, 1<<40 + 15}
	for i, key := range keys {
		bits := sizes[i%len(sizes)]
		fmt.Printf("%s,%d,%d,%s\n", hex.EncodeToString(key), bits, 14, offsets(key, bits, 14))
	}
	fmt.Printf("%s,%d,%d,%s\n", hex.EncodeToString([]byte("hello")), 1<<40+15, 256,
		offsets([]byte("hello"), 1<<40+15, 256))
}
