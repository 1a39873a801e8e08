/* The gradient of a cross-entropy and of the divergence from other logits: of a second pass, or of a teacher. */

#include "vectors.h"

/* The first `count` lanes, and in the others what has no weight. */
static inline vector load_some(const float *from, long count) {
    vector value = all(-1e30f);
    for (long n = 0; n < count; n++) value[n] = from[n];
    return value;
}

static inline void store_some(float *to, long count, vector value) {
    for (long n = 0; n < count; n++) to[n] = value[n];
}

/* What two rows of logits a and b are like, with p and q the softmax of each. */
typedef struct {
    float high_a, high_b;   /* the largest of each */
    float total_a, total_b; /* sums of e^(a - high_a) and e^(b - high_b) */
    float mean_a, mean_b;   /* Σ p d and Σ q d, with d = (a - high_a) - (b - high_b) */
} Two;

/* Rows a and b become e^(a - high_a) and e^(b - high_b). `differences` is room for d, the row's length rounded up; or NULL. */
static inline Two exponentials_of_two(float *a, float *b, long width, float *differences) {
    const long whole = width / LANES * LANES, rest = width - whole;
    const float high_a = largest_in_row(a, width), high_b = largest_in_row(b, width);
    vector sum_a = all(0), sum_b = all(0), lean_a = all(0), lean_b = all(0);
    for (long n = 0; n < width; n += LANES) {
        vector x = (n < whole ? load(a + n) : load_some(a + n, rest)) - high_a;
        vector y = (n < whole ? load(b + n) : load_some(b + n, rest)) - high_b;
        const vector difference = x - y;
        x = exponential(x);
        y = exponential(y);
        sum_a += x;
        sum_b += y;
        lean_a += x * difference;
        lean_b += y * difference;
        if (differences) store(differences + n, difference);
        if (n < whole) {
            store(a + n, x);
            store(b + n, y);
        } else {
            store_some(a + n, rest, x);
            store_some(b + n, rest, y);
        }
    }
    const float total_a = sum_of(sum_a), total_b = sum_of(sum_b);
    return (Two){high_a, high_b, total_a, total_b, sum_of(lean_a) / total_a, sum_of(lean_b) / total_b};
}

/* Pairs of rows a and b become the gradients by a and by b of
 *
 *     (log Σ e^a + log Σ e^b) / 2 - uniform Σ (a + b) + strength (KL(p || q) + KL(q || p)) / 2,
 *
 * with p and q the softmax of a and of b. `differences` is room for one row, rounded up. */
void consistent_gradients(
    long begin, long end, long width, float strength, float uniform, float *logits, float *differences, float *largest,
    float *sums, float *divergences) {
    const long whole = width / LANES * LANES, rest = width - whole;
    const float half = strength / 2;
    for (long pair = begin; pair < end; pair++) {
        float *a = logits + 2 * pair * width, *b = a + width;
        const Two two = exponentials_of_two(a, b, width, differences);
        const float share_a = 1 / two.total_a, share_b = 1 / two.total_b;
        const float factor_a = 0.5f + half * (1 - two.mean_a), factor_b = 0.5f + half * (1 + two.mean_b);
        for (long n = 0; n < width; n += LANES) {
            const vector p = (n < whole ? load(a + n) : load_some(a + n, rest)) * share_a;
            const vector q = (n < whole ? load(b + n) : load_some(b + n, rest)) * share_b;
            const vector difference = load(differences + n) * half;
            const vector by_a = p * (difference + factor_a) - q * half - uniform;
            const vector by_b = q * (factor_b - difference) - p * half - uniform;
            if (n < whole) {
                store(a + n, by_a);
                store(b + n, by_b);
            } else {
                store_some(a + n, rest, by_a);
                store_some(b + n, rest, by_b);
            }
        }
        largest[2 * pair] = two.high_a;
        largest[2 * pair + 1] = two.high_b;
        sums[2 * pair] = two.total_a;
        sums[2 * pair + 1] = two.total_b;
        divergences[pair] = (two.mean_a - two.mean_b) / 2;
    }
}

/* Rows a become the gradients by a of
 *
 *     log Σ e^a - uniform Σ a - share Σ q a,
 *
 * with q the softmax of b, and rows b are lost. The divergence is KL(q || p), with p the softmax of a. */
void taught_gradients(
    long begin, long end, long width, float share, float uniform, float *logits, float *of_teacher, float *largest,
    float *sums, float *divergences) {
    const long whole = width / LANES * LANES;
    for (long row = begin; row < end; row++) {
        float *a = logits + row * width, *b = of_teacher + row * width;
        const Two two = exponentials_of_two(a, b, width, NULL);
        const float share_a = 1 / two.total_a, share_b = share / two.total_b;
        for (long n = 0; n < whole; n += LANES) store(a + n, load(a + n) * share_a - load(b + n) * share_b - uniform);
        for (long n = whole; n < width; n++) a[n] = a[n] * share_a - b[n] * share_b - uniform;
        largest[row] = two.high_a;
        sums[row] = two.total_a;
        divergences[row] = logf(two.total_a) - logf(two.total_b) - two.mean_b;
    }
}
