#!/usr/bin/env bash
# The commands of docs/ceph.md, and what may go wrong. Runs in a chroot and in
# namespaces of its own (in_chroot.sh), whose end ends all daemons.
. "$(dirname "$0")/cluster.sh"
ours=$(text_with deltabloom:10)
table='block_based_table_factory={filter_policy=deltabloom:10}'

step "an OSD as Ceph makes it, $objects objects"
new_cluster
new_osd
systemctl start ceph-osd@0
new_pool
client put 0 "$objects"
verify

step "docs/ceph.md"
run_page /deltabloom/docs/ceph.md
verify

step "resharded, killed while it writes"
systemctl stop ceph-osd@0
reshard "$ours" | found 'reshard success'
drop_in
systemctl start ceph-osd@0
client put 0 "$objects" &
writer=$!
sleep 4
systemctl kill ceph-osd@0
systemctl start ceph-osd@0
wait $writer
verify
found 'filter_policy: deltabloom' /var/log/ceph/ceph-osd.0.log
restart
verify

step "without the module, and with it again"
systemctl stop ceph-osd@0
no_drop_in
: >/var/log/ceph/ceph-osd.0.log
systemctl start ceph-osd@0
verify
client put 0 $((objects / 2))
verify
! grep -q 'filter_policy: deltabloom' /var/log/ceph/ceph-osd.0.log || fail "filters without the module"
drop_in
restart
verify

step "a module of another version"
drop_in DELTABLOOM_MODULES=/opt/deltabloom/other
restart
verify
grep 'built for RocksDB .*, but the RocksDB loaded is 7.9.2' /var/log/ceph/output
step "no module"
mv $modules $modules.away
drop_in
restart
verify
mv $modules.away $modules
grep 'there is no module for its RocksDB 7.9.2' /var/log/ceph/output

step "wrong texts"
systemctl stop ceph-osd@0
fsck
copy=/var/lib/ceph/copy
for wrong in "${ours/filter_policy/filterpolicy}" "${ours/bloom:10/bloom:x}"; do
  refused "$wrong"
  rm -rf $copy
  cp -a --sparse=always $osd $copy
  reshard "$wrong" $copy | found 'error resharding: (22) Invalid argument'
  closed $copy
  reshard "$ours" $copy | found 'reshard success'
  fsck $copy
done
refused "$ours default=$table"
reshard "$ours default=$table" $copy | found 'reshard success'
closed $copy
(reshard "$ours" $copy || true) | found 'extra columns in rocksdb'
ceph-bluestore-tool bluefs-export --path $copy --out-dir /tmp/bluefs >/dev/null
python3 "$here/unname_default.py" $copy/block /tmp/bluefs/sharding/def
rm -r /tmp/bluefs
reshard "$ours" $copy | found 'reshard success'
ceph-bluestore-tool show-sharding --path $copy | found "$ours"
fsck $copy
refused "${ours//deltabloom/deltablom}"
rm -rf $copy
cp -a --sparse=always $osd $copy
reshard "${ours//deltabloom/deltablom}" $copy | found 'reshard success'
fsck $copy
rm -rf $copy

step "OSDs that are made with a text, and what it saves"
: >/tmp/measured
measure "Ceph's Bloom" "$cephs_text"
measure deltabloom:14 "$(text_with deltabloom:14)"
measure deltabloom:10 "$ours"
cat /tmp/measured
echo "Ceph: the page holds, and no object was lost."
