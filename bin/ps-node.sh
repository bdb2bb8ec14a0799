#!/bin/sh
# ps-node.sh - the part of ps-node that stays while its programs run.
#
# It starts a program again when a signal has killed it, has a worker and its
# mate end together, and has both end when ps-node is killed.
# shellcheck disable=SC2154 # name and role are variables of ps-node

# keep PROGRAM WORD... - have it run, and start it again, so often at most, when
# a signal has killed it that nobody sends to have it end: a launcher does not.
# It is told to end by SIGHUP, since it may have had the SIGTERM that we had,
# and would take a second one for haste; or by SIGTERM all the same where
# SIGHUP is ignored, as under nohup.  So is its mate, which ends with it: the
# status is of the one that failed.  A coordinator gets our SIGUSR1, too, which
# asks it how far it is.
keep() {
	told='' signal=HUP child=''
	{ sh -c 'kill -s HUP $$' && signal=TERM; } 2>/dev/null
	[ "$role" != chief ] || trap 'kill -s USR1 $child 2>/dev/null' USR1
	trap 'tell HUP' HUP
	trap 'tell $signal; signal=TERM' INT TERM
	# A standard input that is closed cannot be read by the program, either.
	{ command exec 3<&0; } 2>/dev/null || exec 3>/dev/null
	watch_us
	while :; do
		sh -c 'echo $$ >&4; exec "$0" "$@" 4>&-' "$@" <&3 3<&- &
		child=$!
		[ -z "$told" ] || kill -s HUP "$child" 2>/dev/null
		await "$child"
		case $status-$told-$restarts in
		13[2-9]--[1-9]*) ;;
		*) break ;;
		esac
		restarts=$((restarts - 1))
		echo "$name: $1 was ended by signal $((status - 128)):" \
			"it is started again" >&2
	done
	first=$status
	[ -z "$mate" ] || await "$mate"
	[ "$first" = 0 ] || status=$first
	echo >&4
	exit "$status"
}

# watch_us - start a process that has our child and its mate end when we are
# killed.  It reads who the child is, and at last that there is none, from a
# pipe that ends with us.
watch_us() {
	exec 4>/dev/null
	folder=$(mktemp -d) || return 0
	pipe=$folder/pipe
	if mkfifo "$pipe" && exec 4<>"$pipe" && exec 5<"$pipe"; then
		(
			exec <&5 3<&- 4<&- 5<&- >/dev/null 2>&1
			trap '' HUP INT TERM
			last=''
			while read -r pid; do
				last=$pid
			done
			for pid in ${last:+$last $mate}; do
				kill -s "$signal" "$pid"
			done
		) &
		exec 5<&-
	fi
	rm -r "$folder"
}

tell() {
	told=1
	for pid in $child $mate; do
		kill -s "$1" "$pid" 2>/dev/null
	done
}

# await CHILD - its status; a signal to us ends the wait, and not the child.
await() {
	wait "$1" && status=0 || status=$?
	while kill -0 "$1" 2>/dev/null; do
		wait "$1" && status=0 || status=$?
	done
}
