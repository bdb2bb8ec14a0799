# The rules of the house that a program can check.  See HACKING.md.

load lib.bash

# written - print the source files, without the files that a build makes.
written() {
	find "$SRC" \( -name autom4te.cache -o -name build-aux -o -name .git \
		-o -name '.deps' -o -path "$SRC/pskit-*" \
		-o -path "$SRC/t/bench/venv" \) -prune -o -type f \
		\( -name '*.[ch]' -o -name '*.mk' -o -name '*.ba*' \
		-o -name '*.[1-9]' -o -name '*.md' -o -name '*.ps' \
		-o -name '*.py' -o -name 'Makefile.am' -o -name configure.ac \
		-o -name '*.sh' -o -path "$SRC/bootstrap" \
		-o -path "$SRC/.ci/run" \
		-o -path "$SRC/examples/*/*" -o -path "$SRC/lib/LAYERS" \) \
		! -name 'config.h' -print
	scripts | sed "s|^|$SRC/bin/|"
}

@test "a folder includes only what lib/LAYERS allows it" {
	cd "$SRC/lib" || return
	awk -F '[: ]+' '
		FILENAME == "LAYERS" {
			for (i = 1; !/^#/ && i <= NF; i++)
				allowed[$1, $i] = 1
			next
		}
		/^#include "/ {
			split(FILENAME, file, "/")
			split($0, part, /["\/]/)
			if (!((file[2], part[2]) in allowed))
				print FILENAME " must not have " $0
		}' LAYERS ./*/*.[ch] >"$BATS_TEST_TMPDIR/broken"
	diff /dev/null "$BATS_TEST_TMPDIR/broken"
}

@test "lib/LAYERS lists every folder, each below those that use it" {
	local below="" folder rest each
	while read -r folder rest; do
		for each in $rest; do
			[[ " $below " == *" $each "* ]] ||
				echo "${folder%:} uses $each, which is above"
		done
		below+=" ${folder%:}"
	done < <(grep -v '^#' "$SRC/lib/LAYERS" | grep .) >broken
	for folder in "$SRC"/lib/*/; do
		folder=$(basename "$folder")
		[[ " $below " == *" $folder "* ]] || echo "$folder: no layer"
	done >>broken
	diff /dev/null broken
}

# The folders in which files still name each other in a circle.
circles="base"

@test "no file of a folder names another one in a circle" {
	command -v python3 nm >which || skip "no python3, or no nm"
	"$SRC/t/structure" "$BUILD" >table
	sed 's/:.*//; /^#/d; /./!d' "$SRC/lib/LAYERS" | sort >folders
	sed -n 's|^lib/\([^ ]*\) .*|\1|p' table | sort | diff folders -
	awk -v known=" $circles " '/^lib\// && $5 > 0 &&
		!index(known, " " substr($1, 5) " ")' table >broken
	diff /dev/null broken
}

@test "only sys/net and its sys/curve know ZeroMQ" {
	grep -rlE '<zmq(_utils)?\.h>' "$SRC/lib" "$SRC/bin" --include='*.[ch]' |
		grep -vE "^$SRC/lib/sys/(net|curve)\.c$" >broken || true
	diff /dev/null broken
}

@test "only sys/cli exits or writes to the standard files" {
	grep -rnE '\<(_?exit|printf|puts|putchar|perror)\(|\<std(out|err)\>' \
		"$SRC/lib" --include='*.c' |
		grep -vE "^$SRC/lib/sys/(cli|progress)\.c:" |
		grep -vE "^$SRC/lib/base/(failpoint|log|mem)\.c:" |
		grep -vE ':[0-9]+:[[:space:]]*(/?\*)' >broken || true
	diff /dev/null broken
}

@test "only base/json reads JSON: it bounds the memory that a text may take" {
	grep -rnE '\<json_load' "$SRC/lib" "$SRC/bin" --include='*.c' |
		grep -v "^$SRC/lib/base/json\.c:" >broken || true
	diff /dev/null broken
}

@test "every header compiles alone" {
	local header
	for header in "$SRC"/lib/*/*.h; do
		${CC:-cc} -std=c11 -Wall -Werror -fsyntax-only \
			-include "$BUILD/config.h" -iquote "$SRC/lib" \
			-x c "$header"
	done
}

@test "every header is guarded by a name of its own" {
	local header
	for header in "$SRC"/lib/*/*.h; do
		sed -n 's/^#ifndef \(PS_[A-Z0-9_]*_H\)$/\1/p' "$header"
	done | sort >guards
	ls "$SRC"/lib/*/*.h >headers
	[ "$(wc -l <guards)" = "$(wc -l <headers)" ]
	uniq -d guards >broken
	diff /dev/null broken
}

@test "no line is wider than 80 columns" {
	written | grep -vE '\.(md|ps|[1-9])$' | xargs -d '\n' awk '{
		parts = split($0, part, "\t")
		width = length(part[parts])
		for (i = 1; i < parts; i++)
			width += length(part[i]) + 8 - length(part[i]) % 8
	}
	width > 80 { print FILENAME ":" FNR }' >wide
	diff /dev/null wide
}

@test "no line ends in blanks, every file in a newline" {
	written | sort >files
	xargs -d '\n' grep -nH '[[:blank:]]$' <files >broken || true
	diff /dev/null broken
	# grep also counts an incomplete last line.
	xargs -d '\n' grep -cH '' <files | sed 's/.*://' >lines
	xargs -d '\n' wc -l <files | awk '$2 != "total" { print $1 }' >newlines
	paste files lines newlines | awk '$2 != $3 { print $1 }' >broken
	diff /dev/null broken
}

@test "comments are of one kind, and speak of the project alone" {
	grep -rnE '(^|[[:space:]])//' "$SRC"/{bin,lib,t} --include='*.[ch]' \
		--exclude-dir=venv >broken || true
	grep -rnE '\<(TODO|FIXME|XXX|NEEDSWORK)\>' "$SRC"/{bin,lib,man} \
		--include='*.[ch1-9]' >>broken || true
	diff /dev/null broken
}

@test "programs stay under 250 lines" {
	{
		wc -l "$SRC"/bin/*.c
		scripts | sed "s|^|$SRC/bin/|" | xargs -r wc -l
	} | awk '$2 != "total" && $1 >= 250' >long
	diff /dev/null long
}

@test "no word is used that the project has replaced by another one" {
	git -C "$SRC" rev-parse --git-dir >/dev/null 2>&1 ||
		skip "no checkout, which says which files are ours"
	run -0 "$SRC/t/words"
	assert_output "0 left"
}

@test "every program has a manual page, and its usage is the synopsis there" {
	local program
	for program in $(programs); do
		"$program" --help | sed '/^$/,$d' | tr -d '[:space:]' >usage
		{
			echo "usage:"
			mandoc -Tascii "$SRC/man/$program.1" |
			sed 's/.\x08//g' |
			awk '/^[A-Z]/ { on = /^SYNOPSIS/; next } on'
		} | tr -d '[:space:]' >synopsis
		diff synopsis usage
	done
}

@test "the manual pages are clean" {
	command -v mandoc || skip "no mandoc"
	find "$SRC/man" -name '*.[1-9]' | xargs -r mandoc -Tlint -Wwarning
}

@test "the picture in README is of the diagram in pskit(7)" {
	awk -f "$SRC/man/draw" "$SRC/man/roles.txt" |
		diff - "$SRC/man/roles.svg"
	sed -n '/^\.Bd -literal$/,/^\.Ed$/p' "$SRC/man/pskit.7" |
		sed '/^\.Ed$/q' | sed '1d; $d' | diff - "$SRC/man/roles.txt"
}

@test "every sentence of the manual begins with a noun or a command" {
	command -v python3 >which || skip "no python3"
	"$SRC/t/prose" -l >counted
	grep -qE '^total +[0-9]{4}' counted
	sed '1,/^total/d' counted >hidden
	diff /dev/null hidden
}

@test "the manual pages name only pages that exist" {
	local name section
	[ "$(programs | wc -l)" -ge 7 ] || skip "not every program is built"
	sed -n 's/^\.Xr \(ps[a-z-]*\) \([1-9]\).*/\1 \2/p' "$SRC"/man/*.[1-9] |
	sort -u | while read -r name section; do
		[ -e "$SRC/man/$name.$section" ] || echo "$name($section)"
	done >broken
	diff /dev/null broken
}

@test "every test is run" {
	local file
	for file in "$SRC"/t/*.bats; do
		grep -q "^BATS_TESTS += %D%/${file##*/}\$" "$SRC/t/local.mk" ||
			echo "$file"
	done >broken
	for file in "$SRC"/t/unit/*.c; do
		grep -q "^UNITS += %D%/unit/$(basename "$file" .c)\$" \
			"$SRC/t/local.mk" || echo "$file"
	done >>broken
	diff /dev/null broken
}

@test "every script of a unit test is distributed" {
	local file
	for file in "$SRC"/t/unit/*/*.txt; do
		grep -q "^UNIT_TEXTS += %D%/${file#"$SRC/t/"}\$" \
			"$SRC/t/local.mk" || echo "$file"
	done >broken
	diff /dev/null broken
}

@test "every file of tests begins with a sentence about it" {
	run -0 "$SRC/t/legend"
	assert_equal "$(grep -cE '^  [0-9][0-9]-[a-z-]+ +[^ ]' <<<"$output")" \
		"$(ls "$SRC"/t/*.bats | wc -l)"
	assert_equal "$(grep -c '^[A-Z]' <<<"$output")" 9
}

@test "the tests that the pages name exist" {
	local name
	{
		sed -n 's/^\.\(Pq \)\{0,1\}Pa \(t\/.*\)/\2/p' "$SRC"/man/*.[1-9]
		grep -oE '\<t/[a-z0-9/_.-]*[a-z0-9]' "$SRC"/*.md
	} | tr -d ' ' | tr ',' '\n' | sed 's/.*://' | sort -u >named
	grep -q t/unit/record_log named
	while read -r name; do
		[ -e "$SRC/$name" ] || [ -e "$SRC/$name.c" ] || echo "$name"
	done <named >broken
	diff /dev/null broken
}

@test "every promise, and every loss, names its test" {
	awk '/^\.Ss What is (promised|lost)/ { list = 1 }
		/^\.Ss What is not/ { list = 0 }
		!list { next }
		/^\.(It|El)/ {
			if (item && !named)
				print item
			item = /^\.It/ ? FNR ": " $0 : ""
			named = 0
		}
		/^\.Pq Pa t\// { named = 1 }' \
		"$SRC/man/ps-reliability.7" >broken
	diff /dev/null broken
}

@test "shellcheck has no complaint about the scripts" {
	command -v shellcheck || skip "no shellcheck"
	written | while read -r file; do
		! head -n 1 "$file" | grep -qE '^#!.*[ /](ba)?sh$' ||
			echo "$file"
	done | xargs -r shellcheck
}
