# Each decoder reads its corpus: valid files, and every input that "make fuzz"
# has found. "make fuzz" looks for more.

load lib.bash

@test "every input of the corpora is accepted or refused, without a crash" {
	local folder name
	for folder in "$SRC"/t/fuzz/corpus/*/; do
		name=$(basename "$folder")
		run -0 --separate-stderr "$BUILD/t/fuzz/$name" "$folder"
		assert_equal "$output" "$(find "$folder" -type f | wc -l)"
		[ "$output" -gt 0 ]
		assert_equal "$stderr" ""
	done
	# Each corpus has a fuzz target, and each target a corpus.
	ls "$SRC/t/fuzz/corpus" | diff <(find "$SRC/t/fuzz" -maxdepth 1 \
		-name '*.c' ! -name main.c -printf '%f\n' |
		sed 's/\.c$//' | sort) -
}
