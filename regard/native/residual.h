/* The residual connection around a sub-layer that is trained, with dropout and with layer norm after it or before. */

#ifndef REGARD_RESIDUAL_H
#define REGARD_RESIDUAL_H

#include "vectors.h"

typedef struct {
    const float *gain, *shift; /* [width] */
    float *by_gain, *by_shift; /* zero at first */
    const float *dropout;      /* [rows, width] factors on the sub-layer's output, or null */
    float *normal, *inverse;   /* [rows, width], [rows]: kept from the forward pass */
    float epsilon;
    int before; /* whether the norm comes before the sub-layer */
} Residual;

/* These go from `first_row` on over `rows` of them. Of what is as large as the batch, the beginning is given; y, what
 * enters and what comes back to it are of the rows alone. */

/* What the sub-layer receives: x, or x normed into `space`. */
const float *residual_enter(const Residual *, long first_row, long rows, long width, const float *x, float *space);

/* The same once more, from what was kept. */
const float *residual_entered(const Residual *, long first_row, long rows, long width, const float *x, float *space);

/* What goes on: LayerNorm(x + dropout (y + bias)), or x + dropout (y + bias). */
void residual_leave(
    const Residual *, long first_row, long rows, long width, const float *x, const float *y, const float *bias,
    float *result);

/* The gradient by y, and so far as it goes around the sub-layer that by x; adds to that by the bias. */
void residual_leave_back(
    const Residual *, long first_row, long rows, long width, const float *gradient, float *by_x, float *by_y,
    float *by_bias);

/* Adds to the gradient by x what comes back to LayerNorm(x); where the norm comes after, that was added already. */
void residual_enter_back(const Residual *, long first_row, long rows, long width, const float *by_entered, float *by_x);

#endif
