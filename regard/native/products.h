/* Weights laid out for products with few or many rows, in floats or in bytes. A row's result is the same to the bit
 * whatever rows it stands among. */

#ifndef REGARD_PRODUCTS_H
#define REGARD_PRODUCTS_H

#include "blocks.h"

typedef struct {
    long inputs, outputs;
    const float *panels; /* [panels, inputs, PANEL], zeros after the last output; null where there are bytes */
    const int8_t *bytes; /* [panels, inputs / 4, PANEL, 4] */
    const float *scales; /* [panels * PANEL]: what one unit of an output's bytes stands for */
    const int32_t *sums; /* [panels * PANEL]: 128 times the sum of an output's bytes */
    const float *bias;   /* [panels * PANEL], or null */
} Matrix;

typedef struct {
    uint8_t *bytes; /* [rows, inputs] */
    float *scales;  /* [rows] */
} Quantised;

/* result [rows, outputs of these panels], `next` apart = x [rows, inputs] times the weight, plus bias; then, where
 * `positive`, what is below 0 becomes 0. `space` is needed where the weight is in bytes. */
void multiply_panels(
    const Matrix *matrix, long first_panel, long end_panel, long rows, const float *x, Quantised space, int positive,
    float *result, long next);

void quantise_rows(long rows, long width, const float *x, Quantised into);

static inline long panels_of(const Matrix *matrix) { return (matrix->outputs + PANEL - 1) / PANEL; }

/* All outputs, side by side. */
static inline void apply(const Matrix *matrix, long rows, const float *x, Quantised space, int positive, float *result) {
    if (matrix->bytes) quantise_rows(rows, matrix->inputs, x, space);
    multiply_panels(matrix, 0, panels_of(matrix), rows, x, space, positive, result, matrix->outputs);
}

#endif
