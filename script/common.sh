# Functions of the scripts, which source this file.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=script/$(basename "$0")

head_of_script() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# Ends the script unless this tree is a git checkout. An unpacked release archive is
# none, also inside the checkout of something else.
needs_checkout() {
  [ ! -e "$top/.git" ] || return 0
  echo "$script: needs a git checkout, and $top is none" >&2
  exit 1
}

# Prints the head of the script, and the options of PROGRAM if it is built, if -h
# or --help is given. PROGRAM is "-" if there is none.
#
#   help_with PROGRAM "$@"
help_with() {
  [[ " $* " =~ \ (-h|--help)\  ]] || return 0
  head_of_script
  [ "$1" != - ] || exit 0
  echo
  [ ! -x "$1" ] || exec "$1" --help
  echo "All options, once the program is built: $script --help"
  exit 0
}

# Does the same for a program in Python, which needs no build: runs FILE for
# --help and --list. A system without Python prints the head of the script.
#
#   help_of_python FILE "$@"
help_of_python() {
  [[ " $* " =~ \ (-h|--help|--list)\  ]] || return 0
  [ ! -x /usr/bin/python3 ] || exec /usr/bin/python3 "$top/$1" "${@:2}"
  [[ " $* " != *" --list "* ]] || return 0
  head_of_script
  echo
  echo "All options, once Python is installed: apt-get install python3"
  exit 0
}

# Ends the script, before anything is installed or built, unless the arguments
# are options of these names: those of VALUED each with a value, which is optional
# for those that are also in FLAG and is numbers for those in NUMBER.
#
#   check_options "VALUED..." "FLAG..." "NUMBER..." "$@"
check_options() {
  local valued=" $1 " flags=" $2 " numbers=" $3 " option value
  shift 3
  while [ $# -gt 0 ]; do
    option=${1%%=*}
    value=0
    if [[ $1 == --*=* && $valued == *" $option "* ]]; then
      value=${1#*=}
    elif [[ $valued == *" $1 "* && $# -gt 1 && $2 != -* ]]; then
      value=$2
      shift
    elif [[ $flags != *" $1 "* ]]; then
      [[ $valued == *" $1 "* ]] && value="$1 needs a value" || value="bad option '$1'"
      echo "$script: $value: see $script --help" >&2
      exit 2
    fi
    if [[ $numbers == *" $option "* && ! $value =~ ^[0-9.,kM]+$ ]]; then
      echo "$script: $option '$value' is not a number: see $script --help" >&2
      exit 2
    fi
    shift
  done
}

# Runs COMMAND, its output appended to the file LOG, and meanwhile shows WHAT, the
# seconds so far and LOG's last line on standard error: on a terminal in one line
# that is rewritten every second, elsewhere in a line every ten seconds.
#
#   with_progress WHAT LOG COMMAND...
with_progress() {
  local what=$1 log=$2 watcher code=0
  shift 2
  show_progress "$what" "$log" &
  watcher=$!
  # The command runs in the foreground, so that an interrupt reaches it.
  "$@" >>"$log" 2>&1 </dev/null || code=$?
  # A signal that bash can catch would, if it comes before the new process has put
  # the EXIT trap away, run that trap there and remove the log.
  kill -KILL "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  [ ! -t 2 ] || printf '\r\033[K' >&2
  return "$code"
}

# The background part of with_progress; ends with the script.
show_progress() {
  local seconds=0 line
  while kill -0 $$ 2>/dev/null; do
    sleep 1 >/dev/null 2>&1
    seconds=$((seconds + 1))
    [ -t 2 ] || [ $((seconds % 10)) -eq 0 ] || continue
    line="$1, $seconds s: $(tail -c 2000 "$2" | tr '\r' '\n' | sed '/^ *$/d' | tail -n 1 | cut -c 1-60)"
    if [ -t 2 ]; then
      printf '\r\033[K%s' "$line" >&2
    else
      echo "  $line" >&2
    fi
  done
}

# with_progress, with a log of its own, for a command of a build; shows the end of
# its output if it fails, and ends.
#
#   quietly WHAT COMMAND...
quietly() {
  local build_log
  build_log=$(mktemp)
  trap "rm -f '$build_log'" EXIT
  if ! with_progress "$1" "$build_log" "${@:2}"; then
    tail -n 30 "$build_log" >&2
    local output="its last lines are above"
    [ -s "$build_log" ] || output="its output could not be written: is ${TMPDIR:-/tmp} full?"
    echo "$script: the build failed; $output" >&2
    exit 1
  fi
  rm -f "$build_log"
  trap - EXIT
}

# Builds the targets in DIR, with progress on standard error.
#
#   build_target DIR "TARGET..." [CMake options]
build_target() {
  quietly "configuring" cmake -S "$top" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDELTABLOOM_TESTS=OFF "${@:3}"
  quietly "building" cmake --build "$1" -j "${JOBS:-$(nproc)}" --target $2
}
