/* task - lib/sys/task for the simulator: how it controls the work that a
   program would do in a thread. */
#ifndef PS_SIM_TASK_H
#define PS_SIM_TASK_H

#include <stdbool.h>
#include <stdint.h>

/* Each piece of work takes up to longest_ms; the seed says how long. */
void sim_task_begin(uint64_t seed, uint64_t longest_ms);
void sim_task_now(uint64_t now_ms);

/* Says that programs are being killed: work that is not done yet is dropped. */
void sim_task_abandon(bool);

#endif
