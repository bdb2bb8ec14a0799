# Files of earlier releases: t/golden/VERSION has the files of programs of that
# version of the protocol, from a run of two servers that was killed after its
# checkpoint.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cp -r "$SRC/t/golden/1/." .
	chmod -R u+w .
}

@test "a checkpoint of the previous version is intact, with the same scores" {
	run -0 ps-ckpt verify ckpt
	run -0 ps-eval -C ckpt --predict d.csv
	# The last digits of a float depend on the machine.
	printf '%s\n' 0.652834773 0.654572248 0.243762195 0.651026487 |
	paste - <(echo "$output") |
	awk '$1 - $2 > 3e-7 || $2 - $1 > 3e-7 || NF != 2' >broken
	diff /dev/null broken
}

@test "a run resumes from a checkpoint of the previous version" {
	rm -r ckpt/log-0
	cp ckpt/ckpt-*/MANIFEST.json before
	python3 -c 'import json, sys; print(json.load(sys.stdin)["model"][0][
		"text"], end="")' <before >model.ps
	echo 'epoch 2' | ps-local -q -s 3 -C ckpt ps-coord -m model.ps -B 2 \
		--seed=1 --checkpoint=ckpt -d d.csv >results
	run -0 grep -c '"op":"train"' results
	assert_output 4
	run -0 head -n 1 results
	assert_output --partial '"step":4,"epoch":2,'
	run -0 ps-ckpt verify ckpt/ckpt-00000008
}

@test "a server's log of the previous version is refused" {
	run -78 timeout 20 ps-serve -b "ipc://$PWD/s" --durable=wal -d ckpt
	assert_output "ps-serve: ckpt/log-0: this log was written by programs\
 of another release or build: use those, or remove this folder and lose the\
 steps that only this log has"
	assert_file_exist ckpt/log-0/00000003
	# After the log is removed the server starts.
	rm -r ckpt/log-0
	start ps-serve -b "ipc://$PWD/s" --durable=wal -d ckpt
	stop "$pid"
}
