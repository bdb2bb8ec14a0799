# The progress of a run without a terminal: a line on SIGUSR1, and a file of
# metrics.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		logit = dense x units=1
		loss   binary_crossentropy logit from_logits=true
		metric accuracy logit
		optimizer adagrad
	END
	printf '%s\n' x,y 1,0 2,1 3,1 4,0 >data.csv
	at=ipc://$PWD
	mkfifo requests
}

# coord [OPTION...] - start a coordinator in the background, for a server at
# $at/s; sets coord.  Requests go to descriptor 7, messages come from 6.
coord() {
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 2 \
		-o "$PWD/results" "$@" requests
	coord=$pid
	exec 7>requests
	exec 6< <(exec tail -n +1 -f --pid="$coord" "$log" 3>&- 7>&-)
}

# serve [OPTION...] - start the server at $at/s; sets server.
serve() {
	start ps-serve -b "$at/s" "$@"
	server=$pid
}

# work - start another worker; sets work.
work() {
	launch ps-work -c "$at/c" --repeat data.csv
	work=$pid
}

# await_log TEXT - wait for a message of the coordinator with this text; sets
# line.
await_log() {
	while read -r -t 60 line <&6; do
		[[ $line != *"$1"* ]] || return 0
	done
	fail "not said: $1"
}

# ask_progress - ask for the progress; sets line to the coordinator's answer.
ask_progress() {
	kill -USR1 "$coord"
	await_log "ps-coord: step "
}

# await_results N - wait until there are N results.
await_results() {
	until [ "$(wc -l <results)" -ge "$1" ]; do kill -0 "$coord"; done
}

# ends - end the run; the coordinator's status must be 0.
ends() {
	echo stop >&7
	wait "$coord"
}

# sound FILE - check that the file is in Prometheus's text format: HELP and TYPE
# come before the samples of a metric, and no other metric between them; no
# series comes twice; counters end in _total; a histogram's buckets grow up to
# its count.
sound() {
	LC_ALL=C awk '
		function bad(why) { print FILENAME ":" NR ": " why ": " $0 }
		BEGIN {
			label = "[a-z_]+=\"([^\"\\\\]|\\\\[\\\\\"n])*\""
			labels = "([{]" label "(," label ")*[}])?"
			sample = "^pskit_[a-z_]+" labels \
				" ([-+]?[0-9.]+(e[-+][0-9]+)?|NaN|[-+]Inf)$"
		}
		/^# HELP pskit_[a-z_]+ ./ {
			name = $3
			if (name in helped) bad("twice")
			helped[name] = 1
			next
		}
		/^# TYPE pskit_[a-z_]+ (gauge|counter|histogram)$/ {
			if ($3 != name) bad("no help before it")
			type = $4
			if ((type == "counter") != (name ~ /_total$/))
				bad("name")
			next
		}
		$0 !~ sample {
			bad("no sample")
			next
		}
		{
			value = $NF + 0
			series = $0
			sub(/ [^ ]*$/, "", series)
			if (series in seen) bad("twice")
			seen[series] = 1
			of = series
			sub(/\{.*/, "", of)
			if (type == "histogram") {
				if (of == name "_bucket") {
					if (value < last) bad("falls")
					last = value
				} else if (of == name "_count") {
					if (value != last) bad("count")
				} else if (of != name "_sum")
					bad("no part of a histogram")
			} else if (of != name)
				bad("not of " name)
			if (value < 0) bad("below 0")
		}
		END { if (NR == 0) print "empty" }' "$1" >unsound
	diff /dev/null unsound
}

# figure SERIES [FILE] - print the value of a series.
figure() {
	awk -v series="pskit_$1" '
		{
			line = $0
			sub(/ [^ ]*$/, "", line)
			sub(/run="[0-9a-f]*",?/, "", line)
			sub(/[{][}]/, "", line)
		}
		line == series { print $NF }' "${2:-run.prom}"
}

# await_value SERIES VALUE - wait until the file has this value.
await_value() {
	until [ "$(figure "$1" 2>absent)" = "$2" ]; do
		kill -0 "$coord"
	done
}

# sums KEY - print the sum of this key over the results of steps.
sums() {
	grep '"op":"train"' results | grep -v '"error"' |
		sed "s/.*\"$1\":\([0-9]*\).*/\1/" |
		awk '{ n += $1 } END { print n + 0 }'
}

@test "SIGUSR1 prints the progress, and the run continues" {
	coord
	serve
	work
	echo train 30 >&7
	await_results 30
	ask_progress
	[[ $line =~ ^"ps-coord: step 30  "[0-9]+" steps/s  "[0-9]+\
" examples/s  loss "[0-9.]+"  accuracy 0."[0-9]+\
"  1 workers  1 servers"$ ]] || fail "$line"
	printf '%s\n' 'train 10' join >&7
	ends
	assert_equal "$(grep -c '"op":"train"' results)" 40
}

@test "SIGUSR1 works before there are members, and before any request" {
	local first
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -o results requests
	coord=$pid
	until [ "$(<"/proc/$coord/comm")" = ps-coord ]; do :; done
	until grep -q '^SigBlk:.*[2367abef]..$' "/proc/$coord/status"; do
		kill -0 "$coord"
	done
	kill -USR1 "$coord"	# the coordinator waits for a writer of requests
	exec 6< <(exec tail -n +1 -f --pid="$coord" "$log" 3>&-)
	exec 7>requests
	await_log "ps-coord: step "
	first=$line
	ask_progress
	assert_equal "$line" "$first"
	assert_equal "$line" "ps-coord: step 0  0 steps/s  0 examples/s  \
0 workers  0 servers"
	serve
	work
	echo train 3 >&7
	ends
	assert_equal "$(wc -l <results)" 3
}

@test "SIGUSR1 works with --quiet, too, and writes to the log" {
	coord -q --log="$PWD/log"
	serve
	work
	echo train >&7
	await_results 1
	exec 6< <(exec tail -n +1 -f --pid="$coord" log 3>&- 7>&-)
	ask_progress
	assert_equal "$(wc -l <log)" 1
	# A log that is moved away, or removed, is begun again.
	for away in "mv log log.1" "rm log"; do
		$away
		kill -USR1 "$coord"
		timeout 20 sh -c 'until [ -s log ]; do :; done'
		assert_equal "$(wc -l <log)" 1
	done
	ends
	assert_equal "$(wc -l <log.1)" 1
}

@test "a coordinator that gets SIGUSR1 again and again loses no step" {
	coord -v
	serve
	work
	work
	echo train 3000 >&7
	until [ "$(wc -l <results)" -ge 3000 ]; do kill -USR1 "$coord"; done
	ends
	assert_equal "$(wc -l <results)" 3000
	run -0 grep -c '"attempt":1,' results
	assert_output 3000
	run ! grep -v "ps-coord: \(step\|listening\|3000 steps\)" \
		ps-coord.0.log
}

@test "the other programs end by SIGUSR1, as by default" {
	serve
	kill -USR1 "$server"
	wait "$server" || status=$?
	assert_equal "$status" 138
}

@test "the file exists during the run, and its values agree with the results" {
	coord --status=run.prom
	await_value 'phase{phase="greet"}' 1
	sound run.prom
	assert_equal "$(figure workers)" 0
	assert_equal "$(figure 'server_up{server="0"}')" 0
	assert_equal "$(grep -c loss run.prom)" 0
	serve
	work
	echo train 100 >&7
	await_value steps_total 100
	sound run.prom
	assert_equal "$(figure 'phase{phase="run"}')" 1
	assert_equal "$(figure 'worker_up{worker="0"}')" 1
	assert_equal "$(figure 'server_up{server="0"}')" 1
	assert_equal "$(figure steps_waiting)" 0
	# The server has a weight, a bias, and a slot of adagrad for each.
	assert_equal "$(figure 'server_bytes{server="0"}')" 16
	assert_equal "$(figure 'server_beside{server="0"}')" 0
	assert_equal "$(figure 'server_step_pull_bytes{server="0"}')" 8
	assert_equal "$(figure 'server_step_push_bytes{server="0"}')" 8
	work
	printf '%s\n' 'train 300' join 'train 50' >&7
	ends
	sound run.prom
	assert_equal "$(figure 'phase{phase="over"}')" 1
	assert_equal "$(figure steps_total)" 450
	assert_equal "$(figure step)" 450
	assert_equal "$(figure examples_total)" "$(sums examples)"
	assert_equal "$(figure step_staleness_sum)" "$(sums staleness)"
	assert_equal "$(figure step_staleness_count)" 450
	assert_equal "$(($(figure 'worker_steps_total{worker="0"}') +
		$(figure 'worker_steps_total{worker="1"}')))" 450
	assert_equal "$(figure 'worker_steps_total{worker="1"}')" \
		"$(grep -c '"worker":"worker:1"' results)"
	# Loss and metrics are those of the last 50 steps.
	tail -n 50 results | sed 's/.*"loss":\([^,]*\),.*/\1/' | LC_ALL=C awk \
		-v loss="$(figure loss)" \
		'{ n += $1 } END { exit !((n / 50 - loss) ^ 2 < 1e-12) }'
	[ -n "$(figure 'metric{metric="accuracy"}')" ]
	run -0 find . -name '*tmp*'
	assert_output ""
}

@test "the steps of a killed worker are retried, and it is no longer up" {
	coord --status=run.prom --lease=2s
	serve
	work
	first=$work
	work
	echo train 1000000 >&7
	await_value workers 2
	dies "$first"
	until [ "$(figure attempts_retried_total)" -gt 0 ]; do
		kill -0 "$coord"
	done
	await_value workers 1
	sound run.prom
	assert_equal "$(cat <(figure 'worker_up{worker="0"}') \
		<(figure 'worker_up{worker="1"}') | sort | tr '\n' ' ')" "0 1 "
	kill -TERM "$coord"
	wait "$coord"
	assert_equal "$(figure attempts_retried_total)" \
		"$(grep -c '"attempt":2' results)"
	assert_equal "$(figure steps_total)" "$(grep -c '"loss"' results)"
}

@test "replicas of rounds, epochs and checkpoints are in the file" {
	mkdir ckpt
	serve -d "$PWD/ckpt"
	launch ps-work -c "$at/c"
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 -o results \
		-d data.csv --mode=sync --replicas=2 --status=run.prom \
		--checkpoint="$PWD/ckpt" requests
	coord=$pid
	exec 7>requests
	printf '%s\n' epoch 'train 1' save >&7
	await_value checkpoints_total 1
	await_value steps_waiting 0
	sound run.prom
	assert_equal "$(figure checkpoint_step)" 3
	assert_equal "$(figure steps_total)" 3
	assert_equal "$(figure 'worker_steps_total{worker="0"}')" 6
	assert_equal "$(figure epoch)" 1
	assert_equal "$(figure epoch_records)" 4
	assert_equal "$(figure epoch_records_visited)" 2
	LC_ALL=C awk -v now="$(date +%s)" '
		/^pskit_(start_time|checkpoint_timestamp)_seconds[{]/ {
			if ($2 > now + 5 || $2 < now - 600) exit 1
			n++
		}
		END { exit n != 2 }' run.prom
	ends
	assert_equal "$(figure checkpoints_failed_total)" 0
}

@test "a resumed run continues its counters, and counts failed steps" {
	mkdir ckpt
	serve -d "$PWD/ckpt"
	work
	first=$work
	coord --status=run.prom --checkpoint="$PWD/ckpt" --keep-going
	echo train 40 >&7
	await_results 40
	kill -KILL "$coord"
	wait "$coord" || true
	exec 7>&-
	coord --status=run.prom --checkpoint="$PWD/ckpt" --keep-going
	echo train 2 >&7
	await_value steps_total 42
	assert_equal "$(figure term)" 2
	echo bad >>data.csv
	work
	dies "$first"
	echo train 10 >&7
	await_value steps_failed_total 1
	sound run.prom
	echo stop >&7
	wait "$coord" || status=$?
	assert_equal "$status" 65
	assert_equal "$(figure steps_total)" "$(grep -c '"loss"' results)"
}

@test "a reader never sees an incomplete file, even of a fast run" {
	coord --status=run.prom --results=none --pack=16
	serve
	work
	work
	echo train 40000 >&7
	await_value 'phase{phase="run"}' 1
	seen=0
	while [ "$(figure step)" -lt 40000 ]; do
		cat run.prom >copy
		sound copy
		assert_equal "$(tail -n 1 copy | sed 's/{.*}//')" \
			"pskit_checkpoints_failed_total 0"
		kill -0 "$coord"
		seen=$((seen + 1))
	done
	[ "$seen" -gt 0 ]
	ends
}

@test "the file is written about once a second at most" {
	local written
	mkdir out
	coord --status=out/run.prom --results=none --pack=16
	serve
	work
	until [ -e out/run.prom ]; do kill -0 "$coord"; done
	began=$EPOCHREALTIME
	echo train 40000 >&7
	written=0
	before=$(stat -c %i.%Y out/run.prom)
	while [ "$(figure step out/run.prom)" -lt 40000 ]; do
		now=$(stat -c %i.%Y out/run.prom)
		[ "$now" = "$before" ] || written=$((written + 1))
		before=$now
		kill -0 "$coord"
	done
	[ "$written" -gt 0 ]
	LC_ALL=C awk -v began="$began" -v now="$EPOCHREALTIME" -v n="$written" \
		'BEGIN { exit n > now - began + 2 }' ||
		fail "$written times from $began to $EPOCHREALTIME"
	ends
}

@test "a file that cannot be made is one error, before the run begins" {
	mkdir folder
	ln -s run.prom link
	echo "what was there" >results
	none="No such file or directory"
	while read -r status file why; do
		run "-$status" --separate-stderr ps-coord -m model.ps -s 1 \
			-o results --status="$file" data.csv
		assert_output ""
		assert_equal "$stderr" "ps-coord: --status: $why"
	done <<-END
		73 none/run.prom cannot create none/.tmp-run.prom~: $none
		73 folder folder exists, but is not a plain file
		73 link link exists, but is not a plain file
		73 /dev/null /dev/null exists, but is not a plain file
		64 model.ps model.ps is what is read; try 'ps-coord --help'
		64 data.csv data.csv is what is read; try 'ps-coord --help'
		64 results results is for something else; try 'ps-coord --help'
	END
	assert_equal "$(<results)" "what was there"
}

@test "a file that can no longer be written is a warning, and tried again" {
	mkdir out
	coord --status=out/run.prom
	serve
	work
	until [ -e out/run.prom ]; do kill -0 "$coord"; done
	mv out away
	echo train 20 >&7
	await_log "--status: cannot create out/.tmp-run.prom~: No such file or"
	await_results 20
	mv away out
	shown() { [ "$(figure steps_total out/run.prom)" = "$1" ]; }
	until shown 20; do kill -0 "$coord"; done
	# The same again, until the end of the run.
	mv out away
	await_log "--status: cannot create out/.tmp-run.prom~: No such file or"
	echo train 5 >&7
	ends
	assert_equal "$(grep -c -- --status ps-coord.0.log)" 2
	assert_equal "$(grep -c '"op":"train"' results)" 25
}

@test "the name of a model may have any characters" {
	local name=$'a \"b"\\c\nd'
	cp model.ps "$name"
	serve
	work
	echo train | ps-coord -b "$at/c" -s "$at/s" -m "$name" -B 2 \
		--status=run.prom >results
	sound run.prom
	grep -F 'model="a \"b\"\\c\nd"' run.prom
}

@test "the manual page has every metric, and no other" {
	mkdir ckpt
	serve -d "$PWD/ckpt"
	# Some metrics exist only with a codec, or with a relay.
	sed -i 's/^logit = dense x/h = dense x units=2000\nlogit = dense h/' \
		model.ps
	coord --checkpoint="$PWD/ckpt" -d data.csv --status=run.prom \
		--push=onebit --mode=sync --replicas=1
	launch ps-relay -c "$at/c" -b "$at/r" --site=here
	launch ps-work -c "$at/c" --site=here
	printf '%s\n' 'epoch 1' save >&7
	until grep -q ^pskit_relay_workers run.prom &&
		grep -q ^pskit_residual_norm run.prom &&
		grep -q ^pskit_checkpoint_step run.prom; do
		kill -0 "$coord"
	done 2>/dev/null
	sound run.prom
	sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' run.prom | sort >there
	sed -n 's/^\.It Va \(pskit_.*\)/\1/p' "$SRC/man/ps-coord.1" |
		tr -s ' ,' '\n' | sort >told
	diff there told
	[ "$(wc -l <told)" -gt 30 ]
}

# node_exporter reads both files from one folder.
@test "two runs on a machine have no series in common" {
	for i in 1 2; do
		ps-local -q -- --repeat data.csv -- ps-coord -m model.ps \
			--status="run$i.prom" --results=none \
			<<<$'train 9\njoin'
		sound "run$i.prom"
		[ -n "$(figure loss "run$i.prom")" ]
		[ -n "$(figure 'metric{metric="accuracy"}' "run$i.prom")" ]
	done
	run -0 bash -c "sed '/^#/d; s/ [^ ]*$//' run*.prom | sort | uniq -d"
	assert_output ""
	run -0 sed -E '/^#/d; s/^pskit_info\{/&/; s/.*[{,](run="[^"]*").*/\1/' \
		run1.prom
	assert_equal "$(sort -u <<<"$output" | wc -l)" 1
}
