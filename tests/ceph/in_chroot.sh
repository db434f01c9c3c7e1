#!/usr/bin/env bash
# Installs Ceph in this Debian, builds the module for its RocksDB, and runs
# test.sh in namespaces of its own: no daemon is reached from outside, and none
# outlives the test.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v ceph-osd >/dev/null; then
  apt-get update -q
  apt-get install -yq --no-install-recommends ceph-mon ceph-osd ceph-common python3-rados \
    g++ cmake ninja-build procps >/dev/null
fi
# With the network that the page's first command needs.
(cd /deltabloom && script/package /rocksdb-headers)
# The first process of the namespaces is a shell, which waits for the daemons. The
# loopback device is down there.
exec unshare --propagation unchanged --mount-proc --pid --fork --kill-child --net bash -c '
  python3 -c "
import fcntl, socket, struct
request = struct.pack(\"16sh14x\", b\"lo\", 0x49)  # IFF_UP | IFF_LOOPBACK | IFF_RUNNING
fcntl.ioctl(socket.socket(), 0x8914, request)  # SIOCSIFFLAGS
"
  bash "$1/test.sh"
  exit $?' bash "$here"
