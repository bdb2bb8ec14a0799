/*
 * convert - checkpoints to and from other programs' files.
 */
#ifndef PS_CONVERT_H
#define PS_CONVERT_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Every variable as one array under its own name, and with slots each of them
 * as "VARIABLE@SLOT", to a .npz or .safetensors.  Of a hashed table the ids of
 * its rows are "VARIABLE@id", with slots or without; see merged_arrays.h.
 */
int convert_export(struct checkpoint *, const char *path, bool slots,
		   struct fail *);

/*
 * One array, "VARIABLE" or "VARIABLE@SLOT", as .npy, a megabyte at a time: a
 * whole one, or a server's part of a hashed table.
 */
int convert_array(struct checkpoint *, const char *name,
		  int (*add)(void *to, const void *, size_t, struct fail *),
		  void *to, struct fail *);

/*
 * A checkpoint of step 0 in dir, of a model and a file of initial values;
 * arrays are named as above.  What the file lacks has the values that seed
 * gives it, told through warn, and slots their first values; a hashed table
 * has the rows that the file has, in any order.  Its name:
 */
#define CONVERT_NAME	"ckpt-00000000"
int convert_import(const struct model_source *, const char *values,
		   const char *dir, uint64_t seed,
		   void (*warn)(const char *), struct fail *);

/*
 * VARIABLE@updates: how often it was updated, how often before its slots
 * began, and how many steps its learning rate's schedule has come.
 */
#define CONVERT_UPDATES	"updates"
#define CONVERT_COUNTS	3

#endif
