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
	end_test
}

# end_test - end the daemons of a test, and explain its failure.
end_test() {
	local one
	[ "$BATS_TEST_COMPLETED" ] || show_failure
	for one in "${daemons[@]}"; do
		kill -KILL "$one" 2>/dev/null || true
	done
}

# show_failure - print what a reader of a failed test needs to see: the last
# program that "run" ran, as [[ ]] prints no values, and the messages of the
# daemons.
show_failure() {
	local one
	if [ "${status+x}" ]; then
		echo "the last program ended with status $status"
		[ -z "${output-}" ] || show_end "its output" <<<"$output"
		[ -z "${stderr-}" ] ||
			show_end "its standard error" <<<"$stderr"
	fi
	for one in *.log; do
		[ ! -s "$one" ] || show_end "$one" <"$one"
	done
}

# show_end NAME - print the last lines of standard input, under this name.
show_end() {
	echo "$1:"
	tail -n 10 | cut -c 1-300 | sed 's/^/    /'
}

# Fails if a test has left a program of pskit running.  Such a program has its
# working directory below that of the tests.  Programs that were just killed
# have 10 s to end.
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
# Sets endpoint to the address at which it listens, pid to its process, and log
# to the file of its standard error.  The daemon prints one line on its standard
# output when it is ready, so the test need not poll or sleep.  The daemon must
# not hold file descriptor 3, since bats waits until all have closed it.
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

# launch COMMAND... - run in the background a program that prints no line when
# it is ready.  Sets pid, and out and log to the files of its standard output
# and error.
launch() {
	out=$PWD/$(basename "$1").${#daemons[@]}.out
	log=${out%.out}.log
	"$@" >"$out" 2>"$log" 3>&- &
	pid=$!
	daemons+=("$pid")
}

# damage FILE OFFSET - change the byte at this offset.
damage() {
	local was
	was=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf %b "\\x$(printf %x $((was ^ 255)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# stop [PID] - end a daemon, or else the last one, by SIGTERM; its status must
# be 0.
stop() {
	kill -TERM "${1:-$pid}"
	wait "${1:-$pid}"
}

# dies PID... - kill processes by SIGKILL, and wait until they have ended and
# their addresses are free.
dies() {
	kill -KILL "$@" 2>/dev/null || true
	wait "$@" 2>/dev/null || true
}

# kibibytes PID - print the resident memory of the process.
kibibytes() {
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
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
