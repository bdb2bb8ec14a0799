/* task - lib/sys/task for the simulator: how it controls the work that a
   program would do in a thread. */
#ifndef PS_SIM_TASK_H
#define PS_SIM_TASK_H

#include <stdbool.h>
#include <stdint.h>

/* Each piece of work takes up to longest_ms; the seed decides its time. */
void sim_task_begin(uint64_t seed, uint64_t longest_ms);
void sim_task_now(uint64_t now_ms);

/* Sets whether programs are being killed; unfinished work is then dropped. */
void sim_task_abandon(bool);

#endif
