/* A few rows times one panel of a weight, with all sums in registers: what every product of ours is made of. */

#ifndef REGARD_BLOCKS_H
#define REGARD_BLOCKS_H

#include "vectors.h"

#define ROWS_AT_ONCE 6 /* rows of results that are held in registers, a panel's width of each */
#if defined(__AVX512F__)
#define VECTORS 4 /* of 32 registers, 24 hold sums */
#else
#define VECTORS 2 /* of 16 registers, 12 hold sums */
#endif
#define PANEL (VECTORS * LANES) /* outputs side by side */

/* What a block of up to ROWS_AT_ONCE rows needs: rows of x `row_distance` apart, one panel or a part of its inputs, results
 * `next` apart. */
typedef struct {
    long inputs, row_distance, step; /* step: from one input of a row to the next */
    int begins, ends;                /* whether these are the first inputs, and the last */
    int adds;                        /* whether sums of their own are made, and added to the results at the end */
    int pairs;                       /* whether each number of x and panel is a pair of bfloat16 terms: see pairs.h */
    const float *x, *panel;
    long panel_step; /* from one input of the panel to the next: PANEL where it was laid out */
    const uint8_t *x_bytes;
    const int8_t *bytes;
    const float *x_scales, *scales, *bias;
    const int32_t *sums;
    int positive;
    float *to;
    long next;
    const float *ahead; /* what will be needed next, to be fetched meanwhile: one line of `ahead_step` for each input */
    long ahead_step;
} RowBlock;

/* Of floats, or of pairs: x times panel, [count, PANEL]. */
void multiply_rows(int count, const RowBlock *block);

/* The same against a panel of which only so many columns are there. */
void multiply_columns(int count, const RowBlock *block, long columns);

#endif
