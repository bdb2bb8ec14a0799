#!/bin/bash
# typist.sh FILE COMMAND... - type commands, each when the last has ended.
#
# COMMAND is a line for sh(1) that starts an interactive bash.  It runs on a
# terminal of its own, whose output goes to the standard output.  Each command
# of FILE is typed as it stands, in as many lines as it has there; one that
# fails is counted, and the next one is typed all the same, as a person would.
#
# The last line is "L lines, F failed"; the status is 1 if any failed, or if
# the shell ended before the last one had.
#
#	PATIENCE=SECONDS	how long one command may take (7200)
set -u

patience=${PATIENCE:-7200} lines=0 failed=0 ended=
file=$1
shift

# Before each prompt the shell prints the status between two characters that no
# command prints.
mark=$'\035'
export PROMPT_COMMAND='printf "\035%d\035" $?'

# is_whole TEXT - whether the text is a complete command.
is_whole() {
	case $1 in
	*\\$'\n') return 1 ;;
	esac
	[ "$(bash -n <<<"$1" 2>&1 && echo whole)" = whole ]
}

# await - print the output until the next prompt; sets status to the status in
# it.
await() {
	local shown got deadline=$((SECONDS + patience))
	while :; do
		IFS= read -r -t 1 -d "$mark" -u "$from" shown
		got=$?
		printf '%s' "${shown//$'\r'/}"
		[ "$got" != 0 ] || break
		[ "$got" -gt 128 ] && [ "$SECONDS" -lt "$deadline" ] ||
			return 1
	done
	IFS= read -r -t "$patience" -d "$mark" -u "$from" status
}

# type_in TEXT - type a command, and wait for its end.
type_in() {
	printf '%s' "$1" >&"$to"
	lines=$((lines + $(wc -l <<<"${1%$'\n'}")))
	if ! await; then
		echo "typist: the shell is gone, or this took over" \
			"$patience seconds: ${1%$'\n'}"
		ended=1 status=1
	fi
	if [ "$status" != 0 ]; then
		failed=$((failed + 1))
		printf '\ntypist: status %s: %s\n' "$status" "${1%$'\n'}"
	fi
}

[ -r "$file" ] || { echo "typist: cannot read $file" >&2; exit 66; }
coproc TERM=dumb script -qfec "$*" /dev/null 2>&1
shell=$COPROC_PID
exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
trap 'kill "$shell" 2>/dev/null' EXIT
await || { echo "typist: the shell never prompted" >&2; exit 69; }

text=
while [ ! "$ended" ] && IFS= read -r line <&9; do
	text+=$line$'\n'
	if [[ $text =~ ^[[:space:]]*$ ]]; then
		text=
	elif is_whole "$text"; then
		type_in "$text"
		text=
	fi
done 9<"$file"
if [ "$text" ]; then
	printf 'typist: no whole command: %s' "$text"
	failed=$((failed + 1))
fi
echo
echo "$lines lines, $failed failed"
[ "$failed" = 0 ]
