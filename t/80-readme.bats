# README.md's commands, typed as they stand there, with nothing else: no
# environment, and only programs of a minimal Debian and those that
# ./bootstrap installs.

load lib.bash
load minimal.bash

# fresh - make the folder pskit: the tree, with the programs that ./bootstrap
# builds.
fresh() {
	local program
	mkdir pskit pskit/bin
	cp -R "$SRC/examples" "$SRC/man" "$SRC/README.md" pskit
	for program in $(programs); do
		ln -s "$(command -v "$program")" pskit/bin
	done
	printf '#!/bin/sh\nexit 0\n' >pskit/bootstrap
	chmod +x pskit/bootstrap
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	for program in ps-serve ps-work ps-coord ps-eval ps-ckpt ps-local; do
		[ -x "$BUILD/bin/$program" ] || skip "$program is not built"
	done
	fresh
	has_no_more
	"$SRC/t/helper/readme.sh" "$SRC/README.md" >all
	# Leave out make check, which runs this test.
	grep -vx './bootstrap && make check .*' all >typed
	assert_equal "$(($(wc -l <all) - $(wc -l <typed)))" 1
}

@test "the commands in README run, with the programs of a fresh machine" {
	mkdir tmp home
	cd pskit || return
	run -0 --separate-stderr timeout 250 env -i PATH="$PWD/../usr" \
		HOME="$PWD/../home" TMPDIR="$PWD/../tmp" sh -e ../typed
	[ "$stderr" = "" ] || fail "$stderr"
	assert_line --index 4 "Evaluation accuracy: 1.000000"
	# An epoch has 30,000 examples, 32 in a step.
	assert_equal "$(grep -c '"op":"train".*"epoch":1,' <<<"$output")" 938
	assert_equal "$(grep -cx '"loss":[0-9.e-]*' <<<"$output")" 5000
	[ "$(grep -c '"op":"train"' <<<"$output")" -ge $((938 + 300 + 200)) ]
	# Each checkpoint is scored, the first one, too.
	sed 's/.*"step":\([0-9]*\).*/\1/' try/scores | sort -n >steps
	seq 1000 1000 10000 | diff - steps
	awk -F'"auc":' 'END { exit !($2 > 0.75) }' try/scores
	assert_equal "$(wc -l <try/predictions)" 5000
	assert_exists try/model.npz
	run find ../tmp ../home -type f
	assert_output ""
}

@test "the files and options that README names exist" {
	# shellcheck disable=SC2016 # Markdown
	grep -o 'man man/[a-z-]*\.[0-9]' "$SRC/README.md" | sort -u >pages
	[ "$(wc -l <pages)" -gt 3 ]
	while read -r _ page; do
		assert_exists "$SRC/$page"
	done <pages
	grep -oE '^\| `[a-zA-Z./]+`(, `[a-z.]+\.h`)* \|' "$SRC/README.md" |
		grep -o '`[a-zA-Z]*/[a-zA-Z/.-]*`' | tr -d '`' >files
	[ "$(wc -l <files)" -gt 5 ]
	while read -r file; do
		assert_exists "$SRC/$file"
	done <files
	# Each option in its prose is one of the programs.
	for program in $(programs); do
		"$program" --help
	done >usages
	grep -oE '`[^`]*`' "$SRC/README.md" |
		grep -oE -- '--[a-z][a-z-]+' | sort -u >options
	[ "$(wc -l <options)" -gt 10 ]
	while read -r option; do
		grep -qE -- "$option([^a-z-]|\$)" usages || echo "$option"
	done <options >missing
	diff /dev/null missing
}

@test ".ci/run tests the set-up that README has" {
	[ -e "$SRC/.ci/run" ] || skip "no .ci/run"
	grep -o '^./bootstrap && [^#]*[^# ]' all >set-up
	assert_equal "$(wc -l <set-up)" 2
	while read -r line; do
		grep -qF "sh -c '$line'" "$SRC/.ci/run" || fail "$line"
	done <set-up
}

@test "typist.sh types each command, and counts them" {
	need_terminal
	command -v script >/dev/null || skip "no script(1)"
	cat >commands <<-'END'
		cat >text <<'EOT'
		a "line"
		EOT

		(tac text &
		 seq 3 | \
		    wc -l; wait) >counted
		false   # as some do
		read -r its_own <text; echo "had $its_own"
		if tty -s; then
		echo "said"; fi
	END
	run -1 timeout 60 "$SRC/t/helper/typist.sh" commands \
		env -i TERM=dumb PATH="$PATH" \
		"PROMPT_COMMAND=\"\$PROMPT_COMMAND\"" \
		bash --norc --noprofile --noediting -i
	assert_line "typist: status 1: false   # as some do"
	assert_line 'had a "line"'
	assert_line --regexp "^(> )*said\$"
	assert_equal "${lines[-1]}" "10 lines, 1 failed"
	run sort counted
	assert_output $'3\na "line"'
	# An incomplete command, and a shell that ends early, are failures.
	echo "echo 'open" >commands
	run -1 timeout 60 "$SRC/t/helper/typist.sh" commands bash --norc -i
	assert_equal "${lines[-1]}" "0 lines, 1 failed"
	printf 'exit\necho never\n' >commands
	run -1 timeout 60 "$SRC/t/helper/typist.sh" commands bash --norc -i
	assert_equal "${lines[-1]}" "1 lines, 1 failed"
	refute_line never
}

# Each session of pskit(7) runs in t/80-examples and t/81-pipelines.
@test "calls of TensorFlow's tutorial are in README's table and in pskit(7)" {
	local name
	sed -n '/^| TensorFlow/,/^$/p' "$SRC/README.md" >table
	mandoc -Tascii "$SRC/man/pskit.7" | sed 's/.\x08//g' |
		sed -n '/^   Coming from TensorFlow/,/^   When/p' >section
	awk '/^\.Ss / { on = /Coming from/ }
		on && /^\.It / { if (name && !has) print name
			name = $0; has = 0 }
		on && /^\$ / { has = 1 }
		END { if (!has) print name }' "$SRC/man/pskit.7" >without
	diff /dev/null without
	for name in ParameterServerStrategy TF_CONFIG schedule RemoteValue \
	    join done create_per_worker_dataset PerWorkerValues PerReplica \
	    FixedShardsPartitioner MinSizePartitioner MaxSizePartitioner \
	    CheckpointManager checkpoint.restore SidecarEvaluator \
	    model.evaluate model.predict; do
		grep -qF "$name" table || echo "README: $name"
		grep -qF "$name" section || echo "pskit(7): $name"
	done >missing
	diff /dev/null missing
}
