# The manual pages describe what the programs do.  t/80-examples.bats runs the
# sessions in them, and t/00-house.bats compares their usage with that of the
# programs.

load lib.bash

# explained - print the options of a page in its order, by letter or else by
# name: "b", "plan".
explained() {
	sed -nE 's/^\.It Fl -?([A-Za-z][A-Za-z-]*)( .*)?$/\1/p' "$1"
}

@test "every option of a program is explained on its page" {
	local program option
	for program in $(programs); do
		"$program" --help >usage
		grep -qE '^  (-.,|   ) --[a-z]' usage ||
			fail "$program --help lists no options"
		{
			grep -oE '\[-[a-zA-Z]+\]' usage | grep -o '[a-zA-Z]'
			grep -oE -- '(\[| )-[a-zA-Z] ' usage | tr -d '[ -'
			grep -oE -- '--[a-z-]+' usage | sed 's/--//'
		} | sort -u | while read -r option; do
			grep -qE "^\.It.* ?Fl -?$option( |$)" \
				"$SRC/man/$program.1" && continue
			[ ${#option} = 1 ] || option=-$option
			echo "$program.1 does not explain -$option"
		done
	done >missing
	diff /dev/null missing
}

@test "options are explained in order" {
	local file program
	for file in "$SRC"/bin/ps-*.c; do
		program=$(basename "$file" .c)
		[ -e "$SRC/man/$program.1" ] || continue
		explained "$SRC/man/$program.1" >order
		[ "$(wc -l <order)" -gt 5 ]
		# The order ignores case, with capitals first: B, b, batch.
		sed 's/./\U&&/' order | LC_ALL=C sort -c ||
			fail "$program.1"
	done
}

@test "a page's output comes before its environment, its status after" {
	local page
	for page in "$SRC"/man/*.1; do
		sed -n 's/^\.Sh //p' "$page" | grep -xE 'DESCRIPTION|'\
'STANDARD OUTPUT|ENVIRONMENT|FILES|EXIT STATUS|EXAMPLES|SEE ALSO' >order
		printf '%s\n' DESCRIPTION 'STANDARD OUTPUT' ENVIRONMENT \
			FILES 'EXIT STATUS' EXAMPLES 'SEE ALSO' |
			grep -xFf order | diff - order || fail "$page"
		grep -qx EXAMPLES order || fail "$page has no examples"
	done
}

# The run has every form of request, valid and not, and a worker with a bad
# record.
@test "every key of a result is in ps-request(5)" {
	cat >model.ps <<-'EOT'
		input x sparse[2]
		label y binary
		z = linear x
		loss binary_crossentropy z from_logits=true
		metric accuracy z
		optimizer sgd
	EOT
	printf '%s\n' '1 1:1' '0 2:1' '1 1:x' >bad.svm
	printf '%s\n' '1 1:1' >good.svm
	run -65 --separate-stderr ps-local -C saved -- bad.svm -- \
		ps-coord -m model.ps -B 1 --keep-going --checkpoint=saved \
		-o results - <<-'EOT'
			no request
			train 5
			a
			join
			eval good.svm
			eval missing.svm
			{"op": "save", "id": 1}
		EOT
	grep -oE '"[a-z_]+":' results | tr -d '":' | sort -u >keys
	for key in attempt cancelled checkpoint error id metrics op steps; do
		grep -qx "$key" keys || fail "$key: no such result"
	done
	while read -r key; do
		grep -qx "\.It Va $key" "$SRC/man/ps-request.5" ||
			[ "$key" = accuracy ] || echo "$key"
	done <keys >missing
	diff /dev/null missing
}

@test "the files that pskit-internals(7) names exist" {
	sed -nE 's/^\.(Pq )?Pa ([^ ]+).*/\2/p' \
		"$SRC/man/pskit-internals.7" | sort -u >files
	[ "$(wc -l <files)" -ge 30 ]
	while read -r file; do
		[ -e "$SRC/$file" ] || echo "$file"
	done <files >missing
	diff /dev/null missing
	sed -nE 's/^\.Fn ([a-z_]+_check) .*/\1/p' "$SRC/man/pskit-internals.7" |
		while read -r name; do
			grep -rqw "$name" "$SRC/lib" || echo "$name"
		done | grep -vx x_check >missing || true
	diff /dev/null missing
}
