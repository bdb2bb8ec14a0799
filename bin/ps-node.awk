#!/usr/bin/awk -f
# ps-node.awk - TF_CONFIG of one of the tasks that a launcher has started.
#
# What the launcher tells is in the environment: that rank of size is ours; and
# where they are, by list ("h[1-3],x"), with the tasks of each host ("4,1(x3)")
# and the way to share them out (block, cyclic), or without for one each; and
# here, where we are.  Others do not tell where tasks are: hosts does, a list,
# or a file with a line for each task, or for each host with "slots=N" behind it
# or, as MPICH has it, ":N".  No size: as many as are listed.
#
# servers of them serve; besides, beside (all, or a number) of the workers have
# a server of their own, which are the first ones.  The first port of a node is
# port.
#
# Printed are how often a task is to be started again, how many servers are
# beside workers, and the cluster.

function fail(text, status) {
	print "ps-node: " text >"/dev/stderr"
	failed = status ? status : 78
	exit failed
}

function env(name, otherwise) {
	return name in ENVIRON && ENVIRON[name] != "" ? ENVIRON[name] : \
		otherwise
}

function number(what, text) {
	if (text !~ /^[0-9]+$/)
		fail("the launcher's " what " is '" text "', not a number")
	return text + 0
}

function find_slurm(    job) {
	rank = env("SLURM_PROCID")
	size = env("SLURM_STEP_NUM_TASKS", env("SLURM_NTASKS", 1))
	list = env("SLURM_STEP_NODELIST", env("SLURM_JOB_NODELIST"))
	tasks = env("SLURM_STEP_TASKS_PER_NODE",
		env("SLURM_TASKS_PER_NODE", 1))
	way = env("SLURM_DISTRIBUTION")
	here = env("SLURMD_NODENAME")
	# Jobs side by side on a node have ports of their own.
	job = env("SLURM_JOB_ID", 0) + env("SLURM_STEP_ID", 0)
	if (port == "")
		port = 20000 + job % 160 * 64
}

# One that does not tell where its tasks are: all are here, or hosts says it.
function find_listed(all) {
	if (hosts != "" && env("from") == hosts)
		listed = 1
	else if (hosts ~ /\//)
		fail(hosts ": there is no such file of hosts", 66)
	else if (hosts != "")
		list = hosts
	else if (all != "" && all == size) {
		list = "127.0.0.1"
		tasks = size
	} else
		fail("where are the other tasks? say --hosts")
}

# Tasks of an mpirun inside of a job of Slurm inherit the SLURM_PROCID of who
# started them: the job's script, or a daemon of mpirun's.  srun sets PMI_RANK
# for its own tasks, too; then both have one size.
function find_launcher() {
	restarts = 3
	if ((rank = env("OMPI_COMM_WORLD_RANK")) != "") {
		size = env("OMPI_COMM_WORLD_SIZE", 1)
		find_listed(env("OMPI_COMM_WORLD_LOCAL_SIZE"))
	} else if ((rank = env("PMI_RANK")) != "" &&
			(env("SLURM_PROCID") == "" || (env("PMI_SIZE", 1) > 1 &&
			env("PMI_SIZE") != env("SLURM_STEP_NUM_TASKS")))) {
		size = env("PMI_SIZE", 1)
		find_listed(env("MPI_LOCALNRANKS"))
	} else if ((rank = env("SLURM_PROCID")) != "")
		find_slurm()
	else {
		rank = env("JOB_COMPLETION_INDEX")
		restarts = 0
		find_listed("")
	}
	rank = number("task", rank)
	if (size != "")
		size = number("number of tasks", size)
	if (port == "")
		port = 2222
	if (servers == "")
		servers = beside == ""
}

function add_host(name) {
	if (count >= 65536)
		fail("more than 65536 hosts are listed")
	host[++count] = name
}

# All names that s stands for, with the first brackets resolved.
function expand(s,    p, q, ranges, n, i, k, ends, form) {
	p = index(s, "[")
	q = index(s, "]")
	if (p ? q < p : q)
		fail("'" s "' in the list of hosts has no matching brackets")
	if (!p) {
		add_host(s)
		return
	}
	n = q > p + 1 ? split(substr(s, p + 1, q - p - 1), ranges, ",") : 1
	if (ranges[1] ~ /:/) {			# an address of IPv6
		add_host(ranges[1])
		return
	}
	for (i = 1; i <= n; i++) {
		if (split(ranges[i], ends, "-") < 2)
			ends[2] = ends[1]
		if (ranges[i] !~ /^[0-9]+(-[0-9]+)?$/ ||
				ends[2] + 0 < ends[1] + 0)
			fail("'" ranges[i] "' in the list of hosts is no range")
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

function next_port(name,    p) {
	p = port + on[name]++
	if (p > 65535)
		fail("--port=" port ": no more ports are left on " name)
	return p
}

# A name becomes a part of JSON; whether a host has it is found out later.
function put(name) {
	if (name !~ /^[-0-9A-Za-z.:_]+$/ || name ~ /:[^:]*[g-zG-Z]/) {
		gsub(/[^ -~]/, "?", name)
		fail("'" name "' in the list of hosts is no name")
	}
	nth[places + 0] = next_port(name)
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
		while (x-- > 0 && nodes < count)
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

# The servers beside workers have ports behind those of the tasks.
function put_beside(    i, worker) {
	for (i = 0; i < beside; i++) {
		worker = servers + 1 + i
		at["beside" i] = at[worker]
		nth["beside" i] = next_port(at[worker])
	}
}

# Server i, as a place of its own or beside a worker.
function server(i) {
	return address(i < beside ? "beside" i : i - beside + 1)
}

# Who has nothing to say to others is not told where they are.
function print_cluster(    first, type, i) {
	first = servers + 1
	type = rank == 0 ? "chief" : rank < first ? "ps" : "worker"
	i = rank == 0 ? 0 : rank < first ? rank - 1 + beside : rank - first
	printf "%d %s {\"sparseCluster\": {\"chief\": [%s], \"%s\": ",
		restarts, beside == "" ? "-" : beside, address(0),
		rank == 0 ? "ps" : type
	if (rank > 0)
		printf "{\"%d\": %s}", i, address(rank)
	else
		for (i = 0; i < servers + beside; i++)
			printf "%s%s%s", (i > 0 ? ", " : "["), server(i),
				(i == servers + beside - 1 ? "]" : "")
	if (type == "worker" && i < beside)
		printf ", \"ps\": {\"%d\": %s}", i, server(i)
	printf "}, \"task\": {\"type\": \"%s\", ", type
	printf "\"index\": %d}}\n", rank == 0 ? 0 : i
}

# awk would take an operand "a=b" for a variable, and "\n" in a -v for another
# character: so the file is standard input, and words are in the environment.
BEGIN {
	hosts = env("hosts")
	servers = env("servers")
	beside = env("beside")
	port = env("port")
	find_launcher()
}

!listed { next }

{ sub(/\r$/, "") }

/^[ \t]*(#|$)/ { next }

{
	name = $1
	slots = 1
	if (match($0, /[ \t]slots *= */)) {
		slots = substr($0, RSTART + RLENGTH)
		sub(/[ \t].*/, "", slots)
	} else if (name ~ /^([^:]+|\[.*\]):[^:]*$/) {
		slots = name
		sub(/.*:/, "", slots)
		sub(/:[^:]*$/, "", name)
	}
	if (slots !~ /^[0-9]+$/)
		fail(hosts ":" NR ": '" slots "' is no number of slots")
	if (name ~ /:/)				# an address of IPv6
		gsub(/[][]/, "", name)
	while (slots-- > 0)
		add_host(name)
}

END {
	if (failed)
		exit failed
	read_list(list)
	if (tasks != "")
		spread()
	for (i = 1; tasks == "" && i <= count; i++)
		put(host[i])
	if (size == "")
		size = places
	if (servers < 1 && beside == "")
		fail("--servers=0: without --beside there must be a server", 64)
	if (size < servers + 2)
		fail(size " tasks are too few for a chief, --servers=" servers \
			" and a worker")
	workers = size - servers - 1
	if (beside == "all")
		beside = workers
	if (beside > workers)
		fail("--beside=" beside ": there are only " workers \
			" workers")
	if (rank >= size || places < size)
		fail("task " rank " of " size " has no place among the " \
			places + 0 " that are listed")
	if (here != "" && here != at[rank])
		fail("task " rank " is on " here ", not on " at[rank] \
			": say --distribution=block to srun")
	put_beside()
	print_cluster()
}
