/*
 * convert - converts checkpoints to and from files of other programs.
 */
#ifndef PS_CONVERT_H
#define PS_CONVERT_H

#include "base/fail.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Write every variable, as one array under its own name, to a .npz or
 * .safetensors file; with slots also every slot, as "VARIABLE@SLOT", and the
 * counts below.  The ids of a hashed table's rows are always written, as
 * "VARIABLE@id"; see merged_arrays.h.  Return 0 or -1.
 */
int convert_export(struct checkpoint *, const char *path, bool slots,
		   struct fail *);

/*
 * Give one array, "VARIABLE" or "VARIABLE@SLOT", to add(to, ...) as the bytes
 * of a .npy file, about a megabyte at a time.  The array is a whole one, or one
 * server's part of a hashed table.  Return 0 or -1.
 */
int convert_array(struct checkpoint *, const char *name,
		  int (*add)(void *to, const void *, size_t, struct fail *),
		  void *to, struct fail *);

/*
 * Make a checkpoint of step 0 in dir, with the name CONVERT_NAME, from a model
 * and a file of values, whose arrays are named as above.  A variable that the
 * file lacks gets the initial values of the seed, and warn() a message; a slot
 * that it lacks gets its first value.  A hashed table gets the rows that the
 * file has, in any order.  Return 0 or -1.
 */
#define CONVERT_NAME	"ckpt-00000000"
int convert_import(const struct model_source *, const char *values,
		   const char *dir, uint64_t seed,
		   void (*warn)(const char *), struct fail *);

/*
 * The array "VARIABLE@updates" has three counts: updates of the variable,
 * updates before its slots began, and steps of its learning rate's schedule.
 */
#define CONVERT_UPDATES	"updates"
#define CONVERT_COUNTS	3

#endif
