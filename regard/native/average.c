#include "average.h"

#define PIECE 512 /* exponentials that are summed up in floats */

/* log(1 + x) for x from 0 to 1: 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), where s = x / (2 + x) */
static inline vector logarithm_of_one_more(vector x) {
    const vector s = x / (x + 2.0f), square = s * s;
    vector sum = all(1.0f / 13);
    for (int power = 11; power > 0; power -= 2) sum = sum * square + 1.0f / power;
    return s * 2.0f * sum;
}

/* log(e^a + e^b); not a number where either is none */
static inline vector logarithm_of_sum(vector a, vector b) {
    return larger(a, b) + logarithm_of_one_more(exponential(smaller(a - b, b - a)));
}

/* log(e^x1 + e^x2 + ...) of a row */
static float logarithm_of_total(const float *row, long count) {
    const long whole = count / LANES * LANES;
    const float top = largest_in_row(row, count);
    double total = 0;
    for (long first = 0; first < whole; first += PIECE) {
        const long end = first + PIECE < whole ? first + PIECE : whole;
        vector sum = all(0);
        for (long n = first; n < end; n += LANES) sum += exponential(load(row + n) - top);
        total += sum_of(sum);
    }
    for (long n = whole; n < count; n++) total += expf(row[n] - top);
    return top + log(total);
}

void add_probabilities(long rows, long count, long next, int is_first, const float *logits, float *average) {
    for (long row = 0; row < rows; row++, logits += next, average += next) {
        const float less = logarithm_of_total(logits, count);
        for (long n = 0; n < count; n += LANES) {
            vector own = load(logits + n) - less;
            if (!is_first) own = logarithm_of_sum(load(average + n), own);
            store(average + n, own);
        }
    }
}

void add_logarithms(long rows, long next, int is_first, float share, const float *logits, float *average) {
    for (long n = 0; n < rows * next; n += LANES) {
        vector own = load(logits + n) * share;
        if (!is_first) own += load(average + n);
        store(average + n, own);
    }
}
