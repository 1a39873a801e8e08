/* What the files of the library have in common: the shape of an attention, and products of a library handed in. */

#ifndef REGARD_KERNELS_H
#define REGARD_KERNELS_H

#include "vectors.h"

typedef struct {
    long heads, queries, keys, width, padded; /* padded: keys, rounded up to LANES */
    long query_sentence, query_row;           /* distances between sentences, and between positions; */
    long key_sentence, key_row;               /* heads lie side by side, `width` apart */
    long value_sentence, value_row;
    long result_sentence, result_row;
    long mask_sentence, mask_head, mask_query, mask_key; /* 0 where the mask is the same for all */
    float scale;
} Shape;

void attention_forward(
    const Shape *, long, long, const float *, const float *, const float *, const float *, const float *, const float *,
    const uint8_t *, float *, float *);
void attention_backward(
    const Shape *, long, long, long, const float *, const float *, const float *, const float *, const float *,
    const float *, const float *, const float *, float *, float *, float *, float *, float *);
void relu_forward(long, long, long, const float *, float *);
void relu_backward(long, long, long, const float *, const float *, float *, float *);

typedef void (*Product)(
    const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
    const float *, const int *, const float *, float *, const int *);

/* result [rows, outputs] = x [rows, inputs] times weight [outputs, inputs] turned */
static inline void project(
    Product product, long rows, long inputs, long outputs, const float *x, const float *weight, float *result) {
    const int m = outputs, n = rows, k = inputs;
    const float one = 1, zero = 0;
    product("T", "N", &m, &n, &k, &one, weight, &k, x, &k, &zero, result, &m);
}

/* Columns of weight [outputs, inputs] become rows. The library's product is slow where it has to turn a weight with few
 * outputs itself. */
static inline void turn_weight(long outputs, long inputs, const float *weight, float *turned) {
    for (long first = 0; first < inputs; first += LANES)
        for (long n = 0; n < outputs; n++)
            for (long column = first; column < first + LANES; column++)
                turned[column * outputs + n] = weight[n * inputs + column];
}

/* result [rows, outputs] = x [rows, inputs] times turned [inputs, outputs] */
static inline void project_turned(
    Product product, long rows, long inputs, long outputs, const float *x, const float *turned, float *result) {
    const int m = outputs, n = rows, k = inputs;
    const float one = 1, zero = 0;
    product("N", "N", &m, &n, &k, &one, turned, &m, x, &k, &zero, result, &m);
}

/* result [rows, inputs] = keep result + gradient [rows, outputs] times weight [outputs, inputs] */
static inline void project_back(
    Product product, long rows, long inputs, long outputs, const float *gradient, const float *weight, float keep,
    float *result) {
    const int m = inputs, n = rows, k = outputs;
    const float one = 1;
    product("N", "N", &m, &n, &k, &one, weight, &m, gradient, &k, &keep, result, &m);
}

/* by_weight [outputs, inputs] = keep by_weight + gradient [rows, outputs] turned times x [rows, inputs] */
static inline void weight_gradient(
    Product product, long rows, long inputs, long outputs, const float *gradient, const float *x, float keep,
    float *by_weight) {
    const int m = inputs, n = outputs, k = rows;
    const float one = 1;
    product("N", "T", &m, &n, &k, &one, x, &m, gradient, &n, &keep, by_weight, &m);
}

#endif
