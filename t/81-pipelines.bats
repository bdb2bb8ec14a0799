# The pipelines of ps-pipelines(7), as they stand there, in shells that know
# POSIX and no more.

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
	"$SRC/t/helper/sessions.sh" "$page" >session
	mkdir work tmp bin
	for program in $(programs); do
		ln -s "$(command -v "$program")" bin
	done
	ln -s /usr/bin/python3 bin	# for one of them, with NumPy
}

# runs FOLDER COMMAND... - all sessions do, by that shell and the programs of
# that folder and ours; a line that fails is the last one of the trace.
runs() {
	cd work || return
	run --separate-stderr timeout 200 env -i PATH="$PWD/../bin:$1" \
		HOME="$PWD/../tmp" TMPDIR="$PWD/../tmp" "${@:2}" -x ../session
	[ "$status" = 0 ] || fail "status $status: $output
$(tail -n 20 <<<"$stderr")"
	assert_output ""
	cd .. || return
	run ls -A tmp
	assert_output ""
}

@test "each section of the page has a session, and they are twenty or more" {
	awk '/^\.Ss / { if (name && !has) print name; name = $0; has = 0 }
		/^\$ / { has = 1 }
		/^\.Sh SEE/ && !has { print name }' "$page" >without
	diff /dev/null without
	[ "$(grep -c '^\.Ss ' "$page")" -ge 20 ]
}

@test "the pipelines run with what a minimal system has, by its sh" {
	local data
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	has_no_more
	runs "$PWD/usr" sh
	# awk has said what jq must say.
	command -v jq >/dev/null || skip "no jq: its lines did not run"
	data=$(sed -n 's/^\.Dl \(jq .*\)/\1/p' "$page")
	[ "$data" != "" ]
	cd work || return
	run -0 sh -c "$data"
	assert_output 0.6931
}

@test "the pipelines run with the tools of busybox" {
	local applet
	command -v busybox >/dev/null || skip "no busybox"
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	mkdir usr
	for applet in $(busybox --list); do
		ln -s "$(command -v busybox)" "usr/$applet"
	done
	runs "$PWD/usr" "$PWD/usr/sh"
}
