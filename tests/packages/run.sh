#!/usr/bin/env bash
# Tries the Debian packages as their users do: makes them on a Debian that has
# nothing except what that takes, checks them with lintian there, installs them by
# apt on another that is bare, builds README's program with them, and removes
# them again. The commands are the RUN lines of examples/docker/Dockerfile, stage
# by stage, and then tests/packages/in_bare.sh.
#
#   script/test --long packages [--packages DIR] RELEASE
#
#   script/test --long packages 12
#
# --packages: those in DIR, which script/package has made on the same release,
# instead of making them.
#
# RELEASE: 12 (bookworm) or 13 (trixie). Uses build/debian-RELEASE, as
# script/debian does, and build/debian-RELEASE-bare, which is installed anew
# each time. Takes some ten minutes on two cores. Needs root or sudo.
#
# From the environment: DEBIAN_ROOT, DEBIAN_MIRROR (see script/debian).
. "$(dirname "${BASH_SOURCE[0]}")/../../script/common.sh"
script="script/test --long packages"
help_with - "$@"

made=
if [ "${1:-}" = --packages ]; then
  made=${2:-}
  if ! ls "$made"/*.deb >/dev/null 2>&1; then
    echo "$script: there are no packages in '$made': run script/package, and name its folder" >&2
    exit 2
  fi
  made=$(cd "$made" && pwd)
  shift 2
fi
case "${1:-}" in
  12 | 13) release=$1 ;;
  *)
    echo "$script: no release named: use script/test --long packages 12, or 13" >&2
    exit 2
    ;;
esac
cd "$top"
dockerfile=examples/docker/Dockerfile
builder=${DEBIAN_ROOT:-$top/build/debian-$release}
bare=$top/build/debian-$release-bare
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

# The RUN lines of stage N, each as a command of a shell that stops at the first
# that fails.
run_lines() {
  echo 'set -eux'
  awk -v stage="$1" '/^FROM /{n++} n == stage && sub(/^RUN /, "")' "$dockerfile"
}

if [ -z "$made" ]; then
  echo "== The packages, on Debian $release"
  DEBIAN_ROOT=$builder script/debian "$release" sh -c "$(run_lines 1)"
  made=$builder/deltabloom/build/packages/packages
  echo "== Lintian, on Debian $release"
  DEBIAN_ROOT=$builder script/debian --keep "$release" sh -c \
    'script/bootstrap lintian && lintian --allow-root --fail-on error build/packages/packages/*.deb'
fi

echo "== A bare Debian $release"
"${as_root[@]}" rm -rf "$bare"
DEBIAN_ROOT=$bare script/debian "$release" true
"${as_root[@]}" cp -r "$made" "$bare/packages"
"${as_root[@]}" cp -r "$made" "$bare/all-packages"

echo "== The image"
DEBIAN_ROOT=$bare script/debian "$release" sh -c "$(run_lines 2)"

echo "== All packages, and without them"
DEBIAN_ROOT=$bare script/debian "$release" bash tests/packages/in_bare.sh
echo "Debian $release: all packages install, work, and their removal leaves nothing."
