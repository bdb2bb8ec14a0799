# Files that are made to do harm: every program that reads one refuses it with
# one line that names the fault, and writes nothing.

load lib.bash

# told STATUS REASON COMMAND... - check that the command ends with the status
# and one line that contains the reason and no control characters.
told() {
	run "-$1" --separate-stderr timeout 30 "${@:3}" </dev/null
	[[ $stderr == *"$2"* ]] || fail "$3 $4: $stderr"
	[[ $stderr != *[[:cntrl:]]* ]] || fail "$3 $4: $(cat -v <<<"$stderr")"
}

@test "every program refuses a hostile checkpoint" {
	local name why dir
	echo 1 >data.csv
	hostile >all
	[ "$(wc -l <all)" -gt 80 ]
	while IFS=$'\t' read -r name why; do
		dir=outer/$name/dir
		mkdir -p "${dir%/*}"
		hostile "$name" "$dir"
		find . ! -name 'separate-*' >before
		[ "$why" ] || {
			run -0 ps-ckpt verify "$dir"
			continue
		}
		told 65 "$why" ps-ckpt verify "$dir"
		assert_output ""
		told 65 "$why" ps-eval \
			-C "$dir/ckpt-00000001" data.csv
		find . ! -name 'separate-*' | diff before -
	done <all
}
