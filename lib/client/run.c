#include "client/run.h"

void
run_release(struct run *run)
{
	client_free(run->client);
	run_forget(run);
}

int
run_dial(struct run *run, enum role role, uint64_t life, struct outbox *outbox,
	 uint64_t now, struct fail *f)
{
	run->client = client_new(&run->plan, run->model, role, life, outbox,
				 now, f);
	return run->client ? 0 : -1;
}
