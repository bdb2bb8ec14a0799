# Shared by the end-to-end tests: a fresh directory for each, and daemons that
# cannot outlive the test that started them.
#
# The build gives SRC and BUILD, the roots of the two trees, and puts the
# programs on PATH.

bats_require_minimum_version 1.5.0
bats_load_library bats-support
bats_load_library bats-assert
bats_load_library bats-file

unset TF_CONFIG PS_SERVERS PS_COORD PS_KEY PS_QUEUE

# ps(1) and bash's <(...) need /proc to see processes.
setup_file() {
	need_proc
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
}

teardown() {
	local one
	for one in "${daemons[@]}"; do
		kill -KILL "$one" 2>/dev/null || true
	done
}

# A program of ours that a test has left behind has its working directory there.
# Programs that were killed are gone in a moment.
teardown_file() {
	local one
	for one in $(find /proc/[0-9]*/cwd -maxdepth 0 \
	    -lname "$BATS_RUN_TMPDIR/*" 2>/dev/null); do
		one=${one//[!0-9]/}
		grep -q '^ps-' "/proc/$one/comm" 2>/dev/null || continue
		timeout 10 tail -s 0.05 --pid="$one" -f /dev/null || {
			echo "left behind: $(ps -o args= "$one")"
			return 1
		}
	done
}

# start COMMAND... - run a daemon and wait until it is ready.
# Sets endpoint to where it listens, pid to its process, and log to the file
# that holds its standard error.  The daemon says that it is ready by one line
# on its standard output, so there is nothing to poll and no sleep to get
# wrong.  It must not hold file descriptor 3, which bats waits on.
start() {
	local pipe
	pipe=$(mktemp -u ready.XXXXXX)
	mkfifo "$pipe"
	log=$PWD/$(basename "$1").${#daemons[@]}.log
	"$@" >"$pipe" 2>"$log" 3>&- &
	pid=$!
	daemons+=("$pid")
	if ! read -r -t 20 endpoint <"$pipe"; then
		echo "not ready: $*"
		cat "$log"
		return 1
	fi
	rm "$pipe"
}

# launch COMMAND... - run in the background a program that prints nothing when
# it is ready.  Sets pid, out and log.
launch() {
	out=$PWD/$(basename "$1").${#daemons[@]}.out
	log=${out%.out}.log
	"$@" >"$out" 2>"$log" 3>&- &
	pid=$!
	daemons+=("$pid")
}

# damage FILE BYTE - change the byte at this offset.
damage() {
	local was
	was=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf %b "\\x$(printf %x $((was ^ 255)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# stop [PID] - ask a daemon, or else the last one, to end; it must end with 0.
stop() {
	kill -TERM "${1:-$pid}"
	wait "${1:-$pid}"
}

# dies PID... - kill -9, and wait until they are dead, and let go of their
# addresses.
dies() {
	kill -KILL "$@" 2>/dev/null || true
	wait "$@" 2>/dev/null || true
}

# need_proc - skip the test, or the file, where processes cannot be seen.
need_proc() {
	[ -e /proc/self/status ] || skip "/proc is not mounted"
}

# need_terminal - skip the test where no terminal can be opened.
need_terminal() {
	python3 -c 'import pty; pty.openpty()' 2>/dev/null ||
		skip "no terminal can be opened; is /dev/pts mounted?"
}

# need_data FILE... - set data to the folder of real data, or skip the test.
need_data() {
	local file
	data=$SRC/../shared/data
	for file in "$@"; do
		[ -e "$data/$file" ] || skip "no $file in $data"
	done
}

# programs - print the names of the programs that are built, one a line.
programs() {
	compiled
	scripts
}

# compiled - print the names of the programs that are in C.
compiled() {
	local file
	for file in "$SRC"/bin/ps-*.c; do
		file=$(basename "$file" .c)
		[ ! -x "$BUILD/bin/$file" ] || echo "$file"
	done
}

# scripts - print the names of the programs that are shell scripts.
scripts() {
	local file
	for file in "$SRC"/bin/ps-*; do
		[ ! -e "$file" ] || [[ ${file##*/} == *.* ]] ||
			[ -e "$file.c" ] || basename "$file"
	done
}
