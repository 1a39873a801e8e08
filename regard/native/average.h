/* What several models say comes next, as one, but for a constant of each row: whoever makes probabilities of it
 * takes the total away. */

#ifndef REGARD_AVERAGE_H
#define REGARD_AVERAGE_H

#include "vectors.h"

#pragma GCC visibility push(hidden)

/* Rows of logits [rows, count] of one more model, `next` apart, which is rounded up, become part of the
 * logarithm of the sum of all models' probabilities; those of the first model begin it. */
void add_probabilities(long rows, long count, long next, int is_first, const float *logits, float *average);

/* The same for the mean of log-probabilities, of which this model has such a share. */
void add_logarithms(long rows, long next, int is_first, float share, const float *logits, float *average);

#pragma GCC visibility pop

#endif
