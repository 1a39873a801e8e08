/* Parts of a step of training: attention of short sentences, and passes over rows. */

#ifndef REGARD_KERNELS_H
#define REGARD_KERNELS_H

#include "vectors.h"

typedef struct {
    long heads, queries, keys, width, padded; /* padded: keys, rounded up */
    long query_sentence, query_row;           /* distances between sentences, and between positions; */
    long key_sentence, key_row;               /* heads lie side by side, `width` apart */
    long value_sentence, value_row;
    long result_sentence, result_row;
    long mask_sentence, mask_head, mask_query, mask_key; /* 0 where the mask is the same for all */
    float scale;
    const float *straight, *crossed; /* [positions, width]: by how much queries and keys are turned; null: not at all */
} Shape;

void attention_forward(
    const Shape *, long, long, const float *, const float *, const float *, const float *, const float *, const float *,
    const uint8_t *, float *, float *);
void attention_backward(
    const Shape *, long, long, long, const float *, const float *, const float *, const float *, const float *,
    const float *, const float *, const float *, float *, float *, float *, float *, float *, float *);
void relu_forward(long, long, long, const float *, float *);
void relu_backward(long, long, long, const float *, const float *, float *, float *);

#endif
