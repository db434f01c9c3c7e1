// Checks and fills a filter of scheme go-murmur3, from Go with nothing but its
// standard library:
//
//	go run go_client.go HOST PORT NAME check|add KEY...
//
// Deltabloom made the filter: its numbers of bits and probes are in Redis.
// Prints "absent KEY" or "may match KEY", or how many keys were added.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

func finish(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// murmur3 is the low half of MurmurHash3_x64_128 with seed 0.
func murmur3(data []byte) uint64 {
	var h1, h2 uint64
	size := uint64(len(data))
	for ; len(data) >= 16; data = data[16:] {
		k1 := binary.LittleEndian.Uint64(data)
		k2 := binary.LittleEndian.Uint64(data[8:])
		h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h1 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[:])*c1, 31) * c2
	h2 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[8:])*c2, 33) * c1
	h1 ^= size
	h2 ^= size
	h1 += h2
	h2 += h1
	return finish(h1) + finish(h2)
}

// Redis is one connection; the protocol, as far as it is needed.
type Redis struct {
	connection net.Conn
	in         *bufio.Reader
}

// Run sends a command and returns its reply.
func (r *Redis) Run(words ...string) (any, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
	}
	r.connection.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(r.connection, out.String()); err != nil {
		return nil, err
	}
	return r.read()
}

func (r *Redis) read() (any, error) {
	line, err := r.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	rest := strings.TrimRight(line[1:], "\r\n")
	size, err := strconv.Atoi(rest)
	switch line[0] {
	case '-':
		return nil, errors.New(rest)
	case ':':
		return size, err
	case '$':
		if err != nil || size < 0 {
			return nil, err
		}
		bytes := make([]byte, size+2)
		_, err = io.ReadFull(r.in, bytes)
		return string(bytes[:size]), err
	case '*':
		var list []any
		for ; err == nil && size > 0; size-- {
			var one any
			one, err = r.read()
			list = append(list, one)
		}
		return list, err
	}
	return rest, nil
}

// add sets the bits in the bitmap and in that of a rebuild, if one runs: both
// or neither. -1: the bits were lost.
const add = `
local function whole(key) return redis.call('GETBIT', key, ARGV[2]) == 1 end
local function set(key) for i = 3, #ARGV do redis.call('SETBIT', key, ARGV[i], 1) end end
if not whole(KEYS[1]) then return -1 end
set(KEYS[1])
if redis.call('HGET', KEYS[2], 'rebuild') and whole(ARGV[1]) then set(ARGV[1]) end
return 0`

// check returns 0 if a bit is clear. Lost bits say nothing, and after a restart
// or a failover Redis may lack keys: then it returns 1.
const check = `
local known = redis.call('HMGET', KEYS[2], 'run_id', 'replid')
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
if not string.find(info, 'run_id:' .. tostring(known[1]), 1, true)
  or not string.find(info, 'master_replid:' .. tostring(known[2]), 1, true)
  or redis.call('GETBIT', KEYS[1], ARGV[1]) == 0 then return 1 end
for i = 2, #ARGV do
  if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end
end
return 1`

// Filter is a bitmap in Redis.
type Filter struct {
	redis           *Redis
	name, companion string
	bits, probes    uint64
}

// Open reads what the filter is.
func Open(redis *Redis, name string) (*Filter, error) {
	f := &Filter{redis: redis, name: name, companion: "{" + name + "}"}
	if strings.Contains(name, "{") {
		f.companion = name
	}
	reply, err := redis.Run("HMGET", f.companion+":deltabloom", "scheme", "bits", "probes")
	if err != nil {
		return nil, err
	}
	fields := reply.([]any)
	if fields[0] != "go-murmur3" {
		return nil, errors.New(name + ": no filter that this program can read")
	}
	if f.bits, err = strconv.ParseUint(fields[1].(string), 10, 32); err != nil {
		return nil, err
	}
	f.probes, err = strconv.ParseUint(fields[2].(string), 10, 8)
	return f, err
}

func (f *Filter) run(key string, words ...string) (any, error) {
	// The marker is the bit after the last one.
	words = append(words, strconv.FormatUint(f.bits, 10))
	data := append([]byte(key), 0)
	for i := uint64(0); i < f.probes; i++ {
		data[len(data)-1] = byte(i)
		words = append(words, strconv.FormatUint(murmur3(data)%f.bits, 10))
	}
	return f.redis.Run(words...)
}

// MayMatch is false only if the key was not added. One round trip.
func (f *Filter) MayMatch(key string) (bool, error) {
	reply, err := f.run(key, "EVAL", check, "2", f.name, f.companion+":deltabloom")
	return reply != 0, err
}

// Add is done when it returns nil.
func (f *Filter) Add(key string) error {
	reply, err := f.run(key, "EVAL", add, "2", f.name, f.companion+":deltabloom",
		f.companion+":rebuild")
	if err == nil && reply != 0 {
		err = errors.New(f.name + ": the bits are lost; rebuild the filter")
	}
	return err
}

func run(arguments []string) error {
	if len(arguments) < 4 || arguments[3] != "check" && arguments[3] != "add" {
		return errors.New("usage: go_client HOST PORT NAME check|add KEY...")
	}
	address := net.JoinHostPort(arguments[0], arguments[1])
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer connection.Close()
	redis := &Redis{connection, bufio.NewReader(connection)}
	filter, err := Open(redis, arguments[2])
	if err != nil {
		return err
	}
	for _, key := range arguments[4:] {
		if arguments[3] == "add" {
			err = filter.Add(key)
		} else {
			var found bool
			if found, err = filter.MayMatch(key); err == nil {
				fmt.Println(map[bool]string{true: "may match", false: "absent"}[found], key)
			}
		}
		if err != nil {
			return err
		}
	}
	if arguments[3] == "add" {
		fmt.Println("added", len(arguments)-4)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go_client:", err)
		os.Exit(1)
	}
}
