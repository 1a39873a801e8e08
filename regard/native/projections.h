/* The products of a linear layer that is trained, forward and back: our own, or those of a library handed in. */

#ifndef REGARD_PROJECTIONS_H
#define REGARD_PROJECTIONS_H

#include "kernels.h"
#include "multiply.h"

/* A library's sgemm_. */
typedef void (*Product)(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

/* How products are made: by a library, or, where that is null, by our own, in one of the forms of multiply.h. */
typedef struct {
    Product library;
    int form;
} Products;

/* A weight made ready for the products of many rows, in `*space`, which moves on behind it: laid out in panels, or, for a
 * library, as [terms, columns]. */
static inline Factor ready(Products products, long terms, long columns, Factor weight, float **space) {
    float *const at = *space;
    weight.form = products.form;
    *space += room_for_panels(terms, columns, weight.form);
    if (!products.library) return lay_out_panels(terms, columns, weight, at);
    if (weight.column == 1) return weight;
    turn_matrix(columns, terms, weight.at, at);
    return (Factor){at, columns, 1, 0, 0};
}

/* Of weight [outputs, inputs], for `project`. */
static inline Factor ready_forward(Products products, long inputs, long outputs, const float *weight, float **space) {
    return ready(products, inputs, outputs, (Factor){weight, 1, inputs, 0, 0}, space);
}

/* Of weight [outputs, inputs], for `project_back`. */
static inline Factor ready_back(Products products, long inputs, long outputs, const float *weight, float **space) {
    return ready(products, outputs, inputs, (Factor){weight, inputs, 1, 0, 0}, space);
}

/* result [rows, columns] = x [rows, terms] times a weight that is ready, and what `ending` says; of that, a library only keeps. */
static inline void multiply_ready(
    Products products, long rows, long terms, long columns, const float *x, Factor weight, Ending ending, float *result) {
    const int m = columns, n = rows, k = terms;
    const float one = 1, kept = ending.keep;
    if (products.library)
        products.library("N", "N", &m, &n, &k, &one, weight.at, &m, x, &k, &kept, result, &m);
    else
        multiply_matrices(rows, columns, terms, (Factor){x, terms, 1, 0, 0}, weight, ending, result, columns);
}

/* result [rows, outputs] = x [rows, inputs] times a weight that is ready forward */
static inline void project(
    Products products, long rows, long inputs, long outputs, const float *x, Factor weight, float *result) {
    multiply_ready(products, rows, inputs, outputs, x, weight, (Ending){0}, result);
}

/* The same, plus bias; and what is below 0 becomes 0. */
static inline void project_positive(
    Products products, long rows, long inputs, long outputs, const float *x, Factor weight, const float *bias,
    float *result) {
    multiply_ready(products, rows, inputs, outputs, x, weight, (Ending){.positive = 1, .bias = bias}, result);
    if (products.library) relu_forward(0, rows, outputs, bias, result);
}

/* result [rows, inputs] = gradient [rows, outputs] times a weight that is ready back, added to it where `keep` */
static inline void project_back(
    Products products, long rows, long inputs, long outputs, const float *gradient, Factor weight, int keep,
    float *result) {
    multiply_ready(products, rows, outputs, inputs, gradient, weight, (Ending){.keep = keep}, result);
}

/* by_weight [outputs, inputs] = gradient [rows, outputs] turned times x [rows, inputs], added to it where `keep` */
static inline void weight_gradient(
    Products products, long rows, long inputs, long outputs, const float *gradient, const float *x, int keep,
    float *by_weight) {
    const int m = inputs, n = outputs, k = rows;
    const float one = 1, kept = keep;
    if (products.library)
        products.library("N", "T", &m, &n, &k, &one, x, &m, gradient, &n, &kept, by_weight, &m);
    else
        multiply_matrices(
            outputs, inputs, rows, (Factor){gradient, 1, outputs, 0, 0}, (Factor){x, inputs, 1, 0, products.form},
            (Ending){.keep = keep}, by_weight, inputs);
}

#endif
