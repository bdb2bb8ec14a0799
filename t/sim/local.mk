# The simulated cluster: `make simulate SEEDS=10000 FIRST=1`.
# Of the files of lib/ that it replaces (log, task) none is linked.

SIMULATE_SOURCES = %D%/accounts.c %D%/accounts.h %D%/cluster.c %D%/cluster.h \
	%D%/files.c %D%/files.h %D%/host.h %D%/host_coord.c \
	%D%/host_eval.c %D%/host_relay.c %D%/host_server.c \
	%D%/host_submit.c \
	%D%/host_worker.c \
	%D%/network.c %D%/network.h %D%/program.c %D%/program.h \
	%D%/scenario.c %D%/scenario.h \
	%D%/simulate.c %D%/task.c %D%/task.h \
	%D%/trace.c %D%/trace.h

check_PROGRAMS += %D%/simulate
t_sim_simulate_SOURCES = $(SIMULATE_SOURCES)

SEEDS = 1000
FIRST = 1

EXTRA_DIST += %D%/mutate %D%/mutants

.PHONY: mutants simulate
simulate: %D%/simulate
	@%D%/simulate $(FIRST) $(SEEDS)

mutants: %D%/simulate
	@$(srcdir)/%D%/mutate -n $(SEEDS) -f $(FIRST)
