#!/usr/bin/awk -f
# ps-node.awk - TF_CONFIG of one of the tasks that a launcher has started.
#
# rank of size is ours, and servers of them serve; the first port of a node is
# port.  Where they are is said by list ("h[1-3],x"), with the tasks of each
# host ("4,1(x3)") and the way to share them out (block, cyclic), or without
# for one each; or by a file with a line for each task, or for each host with
# "slots=N" behind it or, as MPICH has it, ":N".
# here, if it is known, is where we are.  No size: as many as are listed.

function fail(text) {
	print "ps-node: " text >"/dev/stderr"
	failed = 1
	exit 78
}

# All names that s stands for, with the first brackets resolved.
function expand(s,    p, q, ranges, n, i, k, ends, form) {
	p = index(s, "[")
	q = index(s, "]")
	if (!p || q < p) {
		if (count > 65536)
			fail("more than 65536 hosts are listed")
		host[++count] = s
		return
	}
	n = split(substr(s, p + 1, q - p - 1), ranges, ",")
	if (ranges[1] ~ /:/) {			# an address of IPv6
		host[++count] = ranges[1]
		return
	}
	for (i = 1; i <= n; i++) {
		if (split(ranges[i], ends, "-") < 2)
			ends[2] = ends[1]
		form = "%s%0" length(ends[1]) "d%s"
		for (k = ends[1] + 0; k <= ends[2] + 0; k++)
			expand(sprintf(form, substr(s, 1, p - 1), k,
				substr(s, q + 1)))
	}
}

# Names are parted by commas that are in no brackets.
function read_list(s,    i, c, depth, name) {
	for (i = 1; i <= length(s) + 1; i++) {
		c = i > length(s) ? "," : substr(s, i, 1)
		depth += (c == "[") - (c == "]")
		if (c != "," || (depth > 0 && i <= length(s)))
			name = name c
		else {
			if (name != "")
				expand(name)
			name = ""
		}
	}
}

function put(name) {
	nth[places + 0] = port + on[name]++
	at[places + 0] = name
	places++
}

# The tasks of a launcher that tells how many are on each host.
function spread(    n, i, x, each, left, more) {
	n = split(tasks, each, ",")
	for (i = 1; i <= n; i++) {
		x = 1
		if (match(each[i], /\(x/))
			x = substr(each[i], RSTART + 2) + 0
		while (x-- > 0)
			left[++nodes] = each[i] + 0
	}
	do {
		more = 0
		for (i = 1; i <= count; i++)
			while (left[i] > 0) {
				left[i]--
				more = 1
				put(host[i])
				if (way ~ /^cyclic/)
					break
			}
	} while (more)
}

# The colons of an address of IPv6 are not that of the port.
function address(i) {
	return "\"" (at[i] ~ /:/ ? "[" at[i] "]" : at[i]) ":" nth[i] "\""
}

# Who has nothing to say to others is not told where they are.
function print_cluster(    first, type, i) {
	first = servers + 1
	type = rank == 0 ? "chief" : rank < first ? "ps" : "worker"
	i = rank == 0 ? 0 : rank < first ? rank - 1 : rank - first
	printf "{\"sparseCluster\": {\"chief\": [%s], \"%s\": ", address(0),
		rank == 0 ? "ps" : type
	if (rank > 0)
		printf "{\"%d\": %s}", i, address(rank)
	else
		for (i = 1; i < first; i++)
			printf "%s%s%s", (i > 1 ? ", " : "["), address(i),
				(i == first - 1 ? "]" : "")
	printf "}, \"task\": {\"type\": \"%s\", ", type
	printf "\"index\": %d}}\n", rank == 0 ? 0 : i
}

{ sub(/\r$/, "") }

/^[ \t]*(#|$)/ { next }

{
	name = $1
	slots = 1
	if (match($0, /[ \t]slots *= */))
		slots = substr($0, RSTART + RLENGTH) + 0
	else if (name ~ /^[^:]+:[0-9]+$/) {
		slots = substr(name, index(name, ":") + 1) + 0
		sub(/:.*/, "", name)
	}
	gsub(/[][]/, "", name)
	while (slots-- > 0)
		host[++count] = name
}

END {
	if (failed)
		exit 78
	read_list(list)
	if (tasks != "")
		spread()
	for (i = 1; tasks == "" && i <= count; i++)
		put(host[i])
	if (size == "")
		size = places
	if (size < servers + 2 || servers < 1)
		fail(size " tasks are too few for a chief, --servers=" servers \
			" and a worker")
	if (rank >= size || places < size)
		fail("task " rank " of " size " has no place among the " \
			places + 0 " that are listed")
	if (here != "" && here != at[rank])
		fail("task " rank " is on " here ", not on " at[rank] \
			": say --distribution=block to srun")
	print_cluster()
}
