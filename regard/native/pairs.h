/* Products whose factors are rounded to bfloat16: two terms lie side by side in the room of a number, and the processor
 * multiplies and adds both at once, to sums that are float32. Products are told apart from others by their right factor. */

#ifndef REGARD_PAIRS_H
#define REGARD_PAIRS_H

#include "multiply.h"

/* Whether this processor has such an instruction; without it the functions below must not be called. */
int takes_pairs(void);

static inline long pairs_of(long terms) { return (terms + 1) / 2; }

/* As in multiply.h; panels [panels, pairs of terms, PANEL] */
Factor lay_out_pairs(long terms, long columns, Factor right, float *panels);
void multiply_pairs(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next);

#endif
