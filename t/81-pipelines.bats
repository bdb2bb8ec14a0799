# The pipelines of ps-pipelines(7) and the table of TensorFlow's calls in
# pskit(7), as they stand there, in shells that have only what POSIX requires.

load lib.bash
load minimal.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	for program in ps-serve ps-work ps-coord ps-eval ps-ckpt ps-local \
		ps-submit; do
		[ -x "$BUILD/bin/$program" ] || skip "$program is not built"
	done
	page=$SRC/man/ps-pipelines.7
	"$SRC/t/helper/sessions.sh" "$page" >pipelines
	"$SRC/t/helper/sessions.sh" "$SRC/man/pskit.7" >table
	mkdir tmp bin
	for program in $(programs); do
		ln -s "$(command -v "$program")" bin
	done
	ln -s /usr/bin/python3 bin	# one session uses it, with NumPy
}

# runs SESSIONS FOLDER SHELL - run the sessions with the shell, the programs of
# the folder and those of pskit; a line that fails is the last one of the trace.
runs() {
	mkdir "work.$1"
	cd "work.$1" || return
	run --separate-stderr timeout 200 env -i PATH="$PWD/../bin:$2" \
		HOME="$PWD/../tmp" TMPDIR="$PWD/../tmp" "$3" -x "../$1"
	[ "$status" = 0 ] || fail "status $status: $output
$(tail -n 20 <<<"$stderr")"
	cd .. || return
	[ "$(ls -A tmp)" = "" ]
}

@test "each section of the page has a session, and they are twenty or more" {
	awk '/^\.Ss / { if (name && !has) print name; name = $0; has = 0 }
		/^\$ / { has = 1 }
		/^\.Sh SEE/ && !has { print name }' "$page" >without
	diff /dev/null without
	[ "$(grep -c '^\.Ss ' "$page")" -ge 20 ]
}

@test "the pipelines run with the programs and the sh of a minimal system" {
	local data
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	has_no_more
	runs pipelines "$PWD/usr" sh
	assert_output ""
	# jq must print the number that awk has printed.
	command -v jq >/dev/null || skip "no jq: its lines did not run"
	data=$(sed -n 's/^\.Dl \(jq .*\)/\1/p' "$page")
	[ "$data" != "" ]
	cd work.pipelines || return
	run -0 sh -c "$data"
	assert_output 0.6931
}

@test "TensorFlow's table runs with the programs of a minimal system" {
	grep -q 'TF_CONFIG=' table
	has_no_more
	runs table "$PWD/usr" sh
}

# has_busybox - make the folder usr with the tools of busybox, or skip the test.
has_busybox() {
	local applet
	command -v busybox >/dev/null || skip "no busybox"
	mkdir usr
	for applet in $(busybox --list); do
		ln -s "$(command -v busybox)" "usr/$applet"
	done
}

@test "the pipelines run with the tools of busybox" {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	has_busybox
	runs pipelines "$PWD/usr" "$PWD/usr/sh"
	assert_output ""
}

@test "TensorFlow's table runs with the tools of busybox" {
	has_busybox
	runs table "$PWD/usr" "$PWD/usr/sh"
}
