/* The likeliest next tokens of a row, found while its logits come in pieces. */

#ifndef REGARD_CHOICE_H
#define REGARD_CHOICE_H

#include "vectors.h"

#define MAX_BEST 128 /* must agree with choice.py */

typedef struct {
    long held;
    float largest;
    double total; /* sum of e^(logit - largest) */
    float value[MAX_BEST];
    int32_t token[MAX_BEST];
} Choice;

static inline void begin_choice(Choice *choice) {
    choice->held = 0;
    choice->largest = -INFINITY;
    choice->total = 0;
}

/* Look at `count` more logits, of tokens from `first` on; keeps the `most` best, best first, ties in the order of tokens.
 * Forbidden tokens are not kept, but have their share of the probability. */
void look_at(
    Choice *choice, long most, const float *logits, long first, long count, long forbidden, const int64_t *never);

/* What a kept value is less its log-probability. */
static inline double normaliser(const Choice *choice) { return choice->largest + log(choice->total); }

#endif
