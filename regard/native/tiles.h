/* Products in a processor's tiles (AMX): registers of 16 rows by 64 bytes, of which one instruction multiplies two, 16 rows by
 * 32 terms and 32 terms by 16 columns, all bfloat16, and adds the products up as float32.
 *
 * Of a float32 factor, ROUNDED_TILES round to bfloat16. TILES take it apart into three planes of 8 bits, which are together
 * its 24,
 *
 *     x = high + middle + low
 *     x y ≈ high high + (high middle + middle high) + (middle middle + high low + low high)
 *
 * and leave out three products that are together below 2^-23 |x y|: twice what a float32 product is rounded by at the most. All
 * sums are float32, and tiles round less often than a long sum in vectors does. They take numbers below the smallest normal
 * one, 2^-126, for zero, in planes and products alike: a factor below 2^-102 loses some of its bits. One above 3.39e38, which
 * rounds to infinity, gives what is not a number, as infinity itself does. */

#ifndef REGARD_TILES_H
#define REGARD_TILES_H

#include "multiply.h"

/* Whether this process may use them, and they work; without, the functions below must not be called. To be asked by one thread
 * at a time. */
int takes_tiles(void);

/* As in multiply.h, for a right factor whose form is one of the two. */
long room_for_tiles(long terms, long columns, int form);
Factor lay_out_tiles(long terms, long columns, Factor right, float *to);
void multiply_tiles(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next);

#endif
