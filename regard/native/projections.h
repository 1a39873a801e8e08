/* The products of a linear layer that is trained, forward and back: our own, or those of a library handed in. */

#ifndef REGARD_PROJECTIONS_H
#define REGARD_PROJECTIONS_H

#include "kernels.h"
#include "multiply.h"

/* A library's sgemm_; null where our own products are the faster ones. */
typedef void (*Product)(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

/* result [rows, outputs] = x [rows, inputs] times turned [inputs, outputs]: a weight that was turned once for many rows */
static inline void project(
    Product product, long rows, long inputs, long outputs, const float *x, const float *turned, float *result) {
    const int m = outputs, n = rows, k = inputs;
    const float one = 1, zero = 0;
    if (product)
        product("N", "N", &m, &n, &k, &one, turned, &m, x, &k, &zero, result, &m);
    else
        multiply_matrices(
            rows, outputs, inputs, (Factor){x, inputs, 1, 0}, (Factor){turned, outputs, 1, 0}, (Ending){0}, result, outputs);
}

/* The same, plus bias; and what is below 0 becomes 0. */
static inline void project_positive(
    Product product, long rows, long inputs, long outputs, const float *x, const float *turned, const float *bias,
    float *result) {
    if (product) {
        project(product, rows, inputs, outputs, x, turned, result);
        relu_forward(0, rows, outputs, bias, result);
    } else {
        multiply_matrices(
            rows, outputs, inputs, (Factor){x, inputs, 1, 0}, (Factor){turned, outputs, 1, 0},
            (Ending){.positive = 1, .bias = bias}, result, outputs);
    }
}

/* result [rows, inputs] = gradient [rows, outputs] times weight [outputs, inputs], added to it where `keep` */
static inline void project_back(
    Product product, long rows, long inputs, long outputs, const float *gradient, const float *weight, int keep,
    float *result) {
    const int m = inputs, n = rows, k = outputs;
    const float one = 1, kept = keep;
    if (product)
        product("N", "N", &m, &n, &k, &one, weight, &m, gradient, &k, &kept, result, &m);
    else
        multiply_matrices(
            rows, inputs, outputs, (Factor){gradient, outputs, 1, 0}, (Factor){weight, inputs, 1, 0}, (Ending){.keep = keep},
            result, inputs);
}

/* by_weight [outputs, inputs] = gradient [rows, outputs] turned times x [rows, inputs], added to it where `keep` */
static inline void weight_gradient(
    Product product, long rows, long inputs, long outputs, const float *gradient, const float *x, int keep,
    float *by_weight) {
    const int m = inputs, n = outputs, k = rows;
    const float one = 1, kept = keep;
    if (product)
        product("N", "T", &m, &n, &k, &one, x, &m, gradient, &n, &kept, by_weight, &m);
    else
        multiply_matrices(
            outputs, inputs, rows, (Factor){gradient, 1, outputs, 0}, (Factor){x, inputs, 1, 0}, (Ending){.keep = keep},
            by_weight, inputs);
}

#endif
