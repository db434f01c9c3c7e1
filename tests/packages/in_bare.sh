# Run by script/test --long packages as root on a bare Debian, in the folder of the
# sources, with the packages in /all-packages: installs all of them by apt, uses
# each, and removes them.
set -eux

apt-get update
apt-get install -y --no-install-recommends /all-packages/*.deb g++ make cmake pkg-config
dpkg --audit | tee /tmp/audit
test ! -s /tmp/audit

# Libraries are found without a call of ldconfig.
ldconfig -p | grep 'libdeltabloom\.so\.'
ldconfig -p | grep 'libdeltabloom_rocksdb\.so\.'

# README's program, by its own command.
awk '/^```cpp/ {keep = 1; text = ""; next}
     /^```/ {if (keep && text ~ /NewRocksDBFilterPolicy/) printf "%s", text; keep = 0}
     keep {text = text $0 "\n"}' README.md >/tmp/your_program.cc
(cd /tmp && sh -exc "$(grep '^c++ .*deltabloom-rocksdb' /deltabloom/README.md)" && ./your_program | grep '^OK$')
grep 'filter_policy={id=deltabloom' /tmp/example.db/OPTIONS-*
deltabloom doctor --db /tmp/example.db

# A separate project.
cmake -S tests/install/consumer -B /tmp/consumer -DCOMPONENTS=core,shared,redis,rocksdb,leveldb
cmake --build /tmp/consumer
for component in core shared redis rocksdb leveldb; do
  "/tmp/consumer/use_$component"
done

deltabloom --version
deltabloom-shared --version
deltabloom estimate --keys 1G >/dev/null
ls /usr/share/man/man1/deltabloom.1.gz /usr/share/bash-completion/completions/deltabloom
ls /usr/share/doc/deltabloom-tools/docs/operations.md

# No file of the packages may stay after they are removed.
packages=$(for file in /all-packages/*.deb; do dpkg-deb -f "$file" Package; done)
apt-get purge -y $packages
left=$(find /usr /etc /var/lib -iname '*deltabloom*' ! -path '/var/lib/dpkg/*')
test -z "$left"
