# Functions of test.sh, which sources this file: a monitor and an OSD, and what is
# asked of them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
objects=${OBJECTS:-6000}
plugin=/usr/lib/x86_64-linux-gnu/libdeltabloom_rocksdb_plugin.so
modules=/usr/lib/x86_64-linux-gnu/deltabloom
osd=/var/lib/ceph/osd/ceph-0
install -m 755 "$here/systemctl" /usr/local/bin/systemctl
rm -f /run/ceph-*.pid # of an earlier run

fail() { echo "FAILED: $*" >&2; exit 1; }
step() { echo "== $* ($(date +%T))"; }
client() { python3 "$here/client.py" "$@"; }
with_module() { LD_PRELOAD=$plugin "$@"; }
# Reads all of its input, whose writer would else get a signal.
found() { grep -F -- "$@" >/dev/null || fail "not found: $*"; }
refused() { ! deltabloom check --ceph "$1" || fail "check takes $1"; }

write_conf() {
  cat >/etc/ceph/ceph.conf <<CONF
[global]
fsid = 5a1d7c1e-0000-4000-8000-000000000001
mon_initial_members = a
mon_host = 127.0.0.1
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
mon_allow_pool_size_one = true
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_data_avail_crit = 1
[osd]
bluestore_block_size = 4G
osd_memory_target = 1G
# What dump_objectstore_kv_stats counts.
rocksdb_perf = true
rocksdb_collect_extended_stats = true
# Small tables, so that there are several levels.
bluestore_rocksdb_options_annex = write_buffer_size=262144,target_file_size_base=262144,max_bytes_for_level_base=1048576
$*
CONF
}

new_cluster() {
  [ ! -e /run/ceph-mon.pid ] || kill -KILL "$(cat /run/ceph-mon.pid)" || true
  rm -rf /var/lib/ceph/{mon,osd} /var/log/ceph /etc/systemd/system/ceph-osd@.service.d
  install -d -o ceph -g ceph /var/lib/ceph/{mon,osd,mon/ceph-a} $osd /var/log/ceph /var/run/ceph
  write_conf "$@"
  ceph-authtool --create-keyring /tmp/mon.keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null
  chown ceph /tmp/mon.keyring
  ceph-mon --mkfs -i a --keyring /tmp/mon.keyring --setuser ceph --setgroup ceph
  ceph-mon -f -i a --setuser ceph --setgroup ceph >/var/log/ceph/monitor 2>&1 </dev/null &
  echo $! >/run/ceph-mon.pid
}

# Makes OSD 0, as ceph-volume does on a device.
new_osd() {
  local uuid
  uuid=$(cat /proc/sys/kernel/random/uuid)
  rm -rf $osd/*
  ceph osd new "$uuid" >/dev/null
  ceph-osd -i 0 --mkfs --osd-uuid "$uuid" --setuser ceph --setgroup ceph 2>/dev/null
}

new_pool() {
  ceph osd pool create data 8 8 replicated
  ceph osd pool application enable data test
}

# All objects are there, and nothing else.
verify() {
  client get 0 "$objects"
  client absent 100
}

deltabloom() { /opt/deltabloom/ld-linux* --library-path /opt/deltabloom /opt/deltabloom/deltabloom "$@"; }
export -f deltabloom
own='O(3,0-13)=block_cache={type=binned_lru'
rest='L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'
cephs_text="m(3) p(3,0-12) $own} $rest"
# The text with a policy in the families of omap and objects.
text_with() {
  local table="block_based_table_factory={filter_policy=$1}"
  echo "m(3)=$table p(3,0-12)=$table $own;filter_policy=$1} $rest"
}

# Runs the OSD with the module, and with the variables that are named.
drop_in() {
  local folder=/etc/systemd/system/ceph-osd@.service.d
  mkdir -p $folder
  printf 'Environment=%s\n' LD_PRELOAD=$plugin "$@" >$folder/deltabloom.conf
}
no_drop_in() { rm -rf /etc/systemd/system/ceph-osd@.service.d; }
reshard() {
  with_module ceph-bluestore-tool reshard --path "${2:-$osd}" --sharding "$1" 2>&1
  chown -R ceph:ceph "${2:-$osd}"
}
fsck() { ceph-bluestore-tool fsck --path "${1:-$osd}" | grep 'fsck success'; }
# An OSD does not open. The other shell is told that the tool aborted.
closed() { ! bash -c '"$@"; exit $?' bash ceph-bluestore-tool show-sharding --path "$1" >/dev/null 2>&1 || fail "$1 opens"; }
restart() { systemctl stop ceph-osd@0; systemctl start ceph-osd@0; }

# The shell blocks of a page in one shell, with checks after each.
run_page() {
  {
    echo 'set -euxo pipefail'
    awk '/^```sh$/ { inside = 1; next }
         /^```$/ && inside { inside = 0; print "still_answers"; next }
         inside' "$1"
  } >/tmp/page.sh
  still_answers() {
    { set +x; } 2>/dev/null
    kill -0 "$(cat /run/ceph-osd-0.pid)" 2>/dev/null || { echo "(stopped)"; set -x; return 0; }
    python3 "$here/client.py" get 0 200
    python3 "$here/client.py" absent 100
    set -x
  }
  export -f still_answers
  export here headers=/rocksdb-headers
  (cd /deltabloom && bash /tmp/page.sh)
}

# One counter of RocksDB since the OSD started.
counter() {
  ceph daemon osd.0 dump_objectstore_kv_stats | sed -n "s/.*\"rocksdb.$1 COUNT : \([0-9]*\)\".*/\1/p"
}
filter_bytes() {
  rm -rf /tmp/bluefs
  ceph-bluestore-tool bluefs-export --path $osd --out-dir /tmp/bluefs >/dev/null 2>&1
  deltabloom inspect --json /tmp/bluefs/db | python3 -c '
import json, sys
files = json.load(sys.stdin)["files"]
print(sum(file["keys"] or 0 for file in files),
      sum(one["bytes"] for file in files for one in file["filters"]))'
  rm -rf /tmp/bluefs
}

# What the filters of one text cost and save: a cluster is made with it, the same
# objects are written, and absent ones are looked up.
measure() {
  local name=$1 text=$2 bytes before after counters
  counters=(bloom.filter.useful bloom.filter.full.positive bloom.filter.full.true.positive
    block.cache.data.hit block.cache.data.miss)
  new_cluster "bluestore_rocksdb_cfs = ${text//;/\\;}"
  drop_in
  LD_PRELOAD=$plugin new_osd
  ceph-bluestore-tool show-sharding --path $osd | found "$text"
  systemctl start ceph-osd@0
  new_pool
  client put 0 "$objects"
  restart
  client get 0 10
  ceph daemon osd.0 compact >/dev/null
  before=$(for one in "${counters[@]}"; do counter "$one"; done)
  client absent "$objects"
  after=$(for one in "${counters[@]}"; do counter "$one"; done)
  systemctl stop ceph-osd@0
  fsck
  bytes=$(filter_bytes)
  paste -s <(echo "$bytes" | tr ' ' '\n') <(paste -d' ' <(echo "$before") <(echo "$after") | awk '{ print $2 - $1 }') | tr '\t\n' '  ' |
    awk -v name="$name" '{ false_positives = $4 - $5
      printf "%-16s %8d keys %8d bytes of filters (%.2f bits per key) %9d rejected %6d false positives (%.4f %%) %7d data blocks\n",
        name, $1, $2, 8 * $2 / $1, $3, false_positives, 100 * false_positives / ($3 + false_positives), $6 + $7 }' |
    tee -a /tmp/measured
}
