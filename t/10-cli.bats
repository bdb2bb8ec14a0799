# The command line of every program.

load lib.bash

@test "-h and --help print the usage on standard output" {
	for program in $(programs); do
		run -0 --separate-stderr "$program" -h
		assert_line --index 0 --partial "usage: $program ["
		assert_equal "$stderr" ""
		short=$output
		run -0 "$program" --help
		assert_output "$short"
	done
}

@test "-V and --version print name and version" {
	for program in $(programs); do
		run -0 --separate-stderr "$program" -V
		assert_output --regexp "^$program \(pskit\) [0-9.]+$"
		assert_equal "$stderr" ""
		version=$output
		run -0 "$program" --version
		assert_output "$version"
	done
}

# refused COMMAND... - one line on standard error, status 64, nothing else.
refused() {
	run -64 --separate-stderr "$@"
	assert_output ""
	assert_equal "${#stderr_lines[@]}" 1
	[[ $stderr == "$1: "*"; try '$1 --help'" ]] || fail "$stderr"
}

@test "an unknown option is refused in one line" {
	for program in $(programs); do
		refused "$program" -Z
		refused "$program" --no-such-option
		refused "$program" --no-such-option=3
	done
}

@test "a mistyped option or command names the nearest one" {
	refused ps-coord --journl=file
	[[ $stderr == "ps-coord: no option --journl, but --journal; try "* ]]
	refused ps-work --verbsoe
	[[ $stderr == *"no option --verbsoe, but --verbose;"* ]]
	refused ps-ckpt shwo file
	[[ $stderr == "ps-ckpt: no command 'shwo', but show;"* ]]
	refused ps-coord --nothing-like-it
	[[ $stderr == "ps-coord: no option --nothing-like-it; try"* ]]
}

@test "--help=WORD prints the lines that have the word" {
	local program
	for program in $(programs); do
		run -0 --separate-stderr "$program" --help=VERSION
		assert_output --partial "-V, --version "
		refute_output --partial "--quiet"
		refute_output --partial "usage:"
		refused "$program" --help=zebra
	done
	run -0 ps-coord --help=round
	assert_output --partial "--backup=N"
	assert_output --partial "--replicas=N"
	run -0 ps-ckpt --help=safetensors
	assert_line --regexp "^  convert "
	assert_line --regexp "^  import "
	# The letter takes no word: the characters behind it are letters.
	run -0 ps-coord -hq
	assert_output --partial "usage: ps-coord"
}

@test "an option without its argument is refused in one line" {
	for program in $(programs); do
		refused "$program" -f
		refused "$program" --task
	done
}

# peers - print each program with the options that give it peers.
peers() {
	programs | grep -vE '^ps-(local|node)$'
}

@test "an empty argument is refused, and the error names the option" {
	for program in $(peers); do
		refused "$program" -f ""
		[[ $stderr == "$program: -f: needs an argument;"* ]]
		refused "$program" --log=
		[[ $stderr == "$program: --log: needs an argument;"* ]]
	done
	refused ps-coord -m model.ps -s 1 --checkpoint=
	[[ $stderr == "ps-coord: --checkpoint: needs an argument;"* ]]
	refused ps-local -C "" true
	[[ $stderr == "ps-local: -C: needs an argument;"* ]]
	refused ps-work --cache= train.svm
	[[ $stderr == "ps-work: --cache: needs an argument;"* ]]
}

@test "an argument that does not fit is refused, with the option's name" {
	for program in $(peers); do
		refused "$program" -w 3x
		[[ $stderr == "$program: -w: '3x' is not a duration"* ]]
		refused "$program" --timeout=0
		[[ $stderr == "$program: --timeout: '0' is not"* ]]
		refused "$program" --insecure=yes
		[[ $stderr == "$program: --insecure: takes no argument"* ]]
	done
}

@test "a duration that is 0 by default may be 0" {
	printf '%s\n' 'input x sparse[4]' 'label y float' 'p = linear x' \
		'loss mean_absolute_error p' >model.ps
	for zero in 0 0s; do
		run -0 ps-coord --plan -s 1 -m model.ps --step-timeout=$zero
		run -66 ps-eval -C none --follow --idle=$zero -w 1ms x.svm
	done
}

@test "a log that cannot be written is an error" {
	for program in $(peers); do
		run -73 "$program" --log=/nonexistent/log
		assert_output --partial "/nonexistent/log"
		assert_equal "${#lines[@]}" 1
	done
}

@test "lost output is an error" {
	for program in $(programs); do
		run -74 --separate-stderr bash -c "$program -V >/dev/full"
		[[ $stderr == "$program: cannot write standard output"* ]]
		run -74 bash -c "$program --help >/dev/full"
		run -74 bash -c "$program -V >&-"
	done
}

@test "a program whose output has lost its reader ends without a message" {
	mkfifo unread
	for program in $(programs); do
		run -141 bash -c 'exec 8<>unread 9>unread 8>&-
			exec env --default-signal=PIPE "$0" --help >&9' \
			"$program"
		assert_output ""
	done
}

# completes WORD... - print bash's completions of the last word; = is a word of
# its own.
completes() {
	run -0 bash -c 'compopt() { :; }
		. "$SRC/bin/completion.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_pskit && printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}

@test "every option of a usage is in the list of options below it" {
	for program in $(programs); do
		"$program" --help >help
		sed '/^$/,$d' help >usage
		sed '1,/^$/d' help >list
		{
			grep -oE '\[-[a-zA-Z]+\]' usage | tr -d '[]-' |
				grep -o . | sed 's/^/-/'
			grep -oE -- '(\[| )-[a-zA-Z] ' usage | tr -d '[ '
			grep -oE -- '--[a-z][a-z-]*' usage
		} | sort -u | while read -r option; do
			grep -qE -- "^  (-.,|   )? *$option\>" list ||
				echo "$program: $option"
		done
	done >missing
	diff /dev/null missing
}

@test "bash completes options, choices, commands and the names of files" {
	mkdir folder
	touch file model.ps
	for program in $(programs); do
		completes "$program" --
		"$program" --help |
			sed -nE 's/^  (-.,|   ) (--[a-z-]+=?).*/\2/p' >all
		assert_output "$(cat all)"
	done
	completes ps-coord --wi
	assert_output "--wire="
	completes ps-coord --wire =
	assert_output $'float32\nbfloat16\nint8'
	completes ps-coord --wire = b
	assert_output "bfloat16"
	completes ps-coord --restore = l
	assert_output "latest"
	completes ps-coord --restore = m
	assert_output "model.ps"
	completes ps-coord -m m
	assert_output "model.ps"
	completes ps-coord --checkpoint = f
	assert_output "folder"
	completes ps-work --cache = f
	assert_output "folder"
	completes ps-work --cache f
	assert_output ""
	completes ps-ckpt -v d
	assert_output "diff"
	completes ps-ckpt diff f
	assert_output ""
	completes ps-local -w 2 -- --shard = 1 -- ps-coord --pla
	assert_output $'--place=\n--plan'
	completes ps-local -w 2 -- --sha
	assert_output "--shard="
	completes ps-node --chief --mode = a
	assert_output "async"
	completes ps-node --chief -m x --relay --si
	assert_output "--site="
	completes ps-local ps-submit --de
	assert_output "--detach"
}

@test "bootstrap --help prints its usage, and does nothing" {
	cp "$SRC/bootstrap" .
	run -0 ./bootstrap --help
	assert_line --index 0 "usage: ./bootstrap [OPTION OF CONFIGURE...]"
	assert_equal "$(ls)" bootstrap
}
