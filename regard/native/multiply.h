/* Products of a step of training, whose matrices are used a few times before they change. */

#ifndef REGARD_MULTIPLY_H
#define REGARD_MULTIPLY_H

#include "blocks.h"

/* In what form a product takes its factors; must agree with forms.py. */
enum {
    FLOATS,       /* as they are */
    PAIRS,        /* rounded to bfloat16: pairs.h */
    TILES,        /* in a processor's tiles, taken apart: tiles.h */
    ROUNDED_TILES /* there, rounded to bfloat16 */
};

/* A matrix as it lies: from one row to the next, and from one column to the next. Where it was laid out in panels, they are
 * `panel` apart; 0 where it was not. A right factor says of which form the product is, and was laid out so. */
typedef struct {
    const float *at;
    long row, column, panel;
    int form;
} Factor;

/* What becomes of sums: added to what the result is, or joined by a bias [columns] (or null); then, where `positive`,
 * what is below 0 becomes 0. */
typedef struct {
    int keep, positive;
    const float *bias;
} Ending;

/* result [rows, columns], rows `next` apart = left [rows, terms] times right [terms, columns] */
void multiply_matrices(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next);

/* A right factor [terms, columns] that many products share, laid out for them in `panels`, in the form that it says: floats are
 * [panels, terms, PANEL], with zeros after the last column. */
Factor lay_out_panels(long terms, long columns, Factor right, float *panels);

/* Floats that it takes. */
long room_for_panels(long terms, long columns, int form);

/* turned [columns, rows] = matrix [rows, columns], both of a multiple of LANES */
void turn_matrix(long rows, long columns, const float *matrix, float *turned);

/* The same of a part of a matrix, in which rows lie so far apart. */
void turn_part(long rows, long columns, const float *from, long distance, float *to, long to_distance);

#endif
