/*
 * task - how the simulator rules over sys/task, which it replaces.
 */
#ifndef PS_SIM_TASK_H
#define PS_SIM_TASK_H

#include <stdbool.h>
#include <stdint.h>

/* Work takes up to so many milliseconds; how many is drawn from the seed. */
void sim_task_begin(uint64_t seed, uint64_t longest_ms);
void sim_task_now(uint64_t now_ms);

/* Programs are being killed: what has not been done never will be. */
void sim_task_abandon(bool);

#endif
