/* The loops of training that a matrix library does badly: many small attentions, and passes over rows that torch makes
 * one by one. Everything is float32. Nothing here allocates, keeps state, or starts a thread. */

#include "kernels.h"

#define MAX_KEYS 128  /* these two must agree with attention.py */
#define MAX_WIDTH 128

/* result[m, :] = factors[m, :] times rows[:, :], for a result of `width` columns, a multiple of LANES.
 * Factors may be read along either of their sides: `next_m` and `next_n` are the distances between neighbours. */
static inline __attribute__((always_inline)) void multiply_some(
    int count, const float *factors, long next_m, long next_n, int terms, const float *rows, long next_row, int width,
    float *result, long next_result) {
    for (int column = 0; column < width; column += 2 * LANES) {
        int two = width - column > LANES;
        vector low[4], high[4];
        for (int m = 0; m < count; m++) low[m] = high[m] = all(0);
        if (two) {
            for (int n = 0; n < terms; n++) {
                vector row_low = load(rows + n * next_row + column), row_high = load(rows + n * next_row + column + LANES);
                for (int m = 0; m < count; m++) {
                    vector factor = all(factors[m * next_m + n * next_n]);
                    low[m] += factor * row_low;
                    high[m] += factor * row_high;
                }
            }
        } else {
            for (int n = 0; n < terms; n++) {
                vector row = load(rows + n * next_row + column);
                for (int m = 0; m < count; m++) low[m] += factors[m * next_m + n * next_n] * row;
            }
        }
        for (int m = 0; m < count; m++) {
            store(result + m * next_result + column, low[m]);
            if (two) store(result + m * next_result + column + LANES, high[m]);
        }
    }
}

static void multiply(
    int count, const float *factors, long next_m, long next_n, int terms, const float *rows, long next_row, int width,
    float *result, long next_result) {
    int m = 0;
    for (; m + 4 <= count; m += 4)
        multiply_some(4, factors + m * next_m, next_m, next_n, terms, rows, next_row, width, result + m * next_result, next_result);
    for (; m < count; m++)
        multiply_some(1, factors + m * next_m, next_m, next_n, terms, rows, next_row, width, result + m * next_result, next_result);
}

/* Rows + bias, side by side: from [count, width] somewhere to [count, width] here. */
static void gather(int count, int width, const float *rows, long next_row, const float *bias, float *gathered) {
    for (int n = 0; n < count; n++)
        for (int column = 0; column < width; column += LANES)
            store(gathered + n * width + column, load(rows + n * next_row + column) + load(bias + column));
}

/* Turn rows [count, width] by the angles of their positions, or back by these. */
static void rotate(int count, const Shape *shape, int back, float *rows, long next_row) {
    for (int n = 0; shape->straight && n < count; n++)
        for (int column = 0; column < shape->width; column += LANES) {
            const long at = (long)n * shape->width + column;
            const vector crossed = load(shape->crossed + at);
            float *place = rows + n * next_row + column;
            store(place, rotated(load(place), load(shape->straight + at), back ? -crossed : crossed));
        }
}

/* Columns become rows: from [count, width] to [width, padded], zeros after `count`. */
static void turn(int count, int width, int padded, const float *rows, float *turned) {
    for (int column = 0; column < width; column++)
        for (int n = count; n < padded; n++) turned[column * padded + n] = 0;
    for (int n = 0; n < count; n++)
        for (int column = 0; column < width; column++) turned[column * padded + n] = rows[n * width + column];
}

/* Add the sum of some rows to `sums`. */
static void add_rows(int count, int width, const float *rows, long next_row, float *sums) {
    for (int column = 0; column < width; column += LANES) {
        vector sum = load(sums + column);
        for (int n = 0; n < count; n++) sum += load(rows + n * next_row + column);
        store(sums + column, sum);
    }
}

/* Which keys are open to each query of a sentence and head: rows of 1 and 0, zeros after the last key. */
static void open_keys(const Shape *shape, const uint8_t *mask, long sentence, long head, float *open) {
    const uint8_t *from = mask + sentence * shape->mask_sentence + head * shape->mask_head;
    for (long row = 0; row < (shape->mask_query ? shape->queries : 1); row++)
        for (long n = 0; n < shape->padded; n++)
            open[row * shape->padded + n] = n < shape->keys && from[row * shape->mask_query + n * shape->mask_key];
}

/* softmax(scale Q K') V, for queries, keys and values to which a bias is added first; keeps the weights
 * [sentences, heads, queries, padded]. mask: bytes, 1 where a query may look; null where it may look everywhere. */
void attention_forward(
    const Shape *shape, long begin, long end, const float *query, const float *key, const float *value,
    const float *query_bias, const float *key_bias, const float *value_bias, const uint8_t *mask, float *weights,
    float *result) {
    const int queries = shape->queries, keys = shape->keys, width = shape->width, padded = shape->padded;
    const uint8_t everything = 1;
    Shape plain = *shape;
    if (!mask) plain.mask_sentence = plain.mask_head = plain.mask_query = plain.mask_key = 0, mask = &everything;
    shape = &plain;
    float rows[MAX_WIDTH * MAX_KEYS], turned[MAX_WIDTH * MAX_KEYS], open[MAX_KEYS * MAX_KEYS];
    open_keys(shape, mask, begin, 0, open);
    for (long sentence = begin; sentence < end; sentence++) {
        for (long head = 0; head < shape->heads; head++) {
            const long at = head * width;
            float *w = weights + (sentence * shape->heads + head) * queries * padded;
            if (shape->mask_head || (shape->mask_sentence && head == 0)) open_keys(shape, mask, sentence, head, open);
            gather(keys, width, key + sentence * shape->key_sentence + at, shape->key_row, key_bias + at, rows);
            rotate(keys, shape, 0, rows, width);
            turn(keys, width, padded, rows, turned);
            gather(queries, width, query + sentence * shape->query_sentence + at, shape->query_row, query_bias + at, rows);
            rotate(queries, shape, 0, rows, width);
            multiply(queries, rows, width, 1, width, turned, padded, padded, w, padded);
            for (int row = 0; row < queries; row++) {
                float *scores = w + row * padded;
                const float *may = open + (shape->mask_query ? row * padded : 0);
                vector largest = all(-3e38f), sum = all(0);
                for (int n = 0; n < padded; n += LANES) {
                    vector score = pick(load(may + n) > 0, load(scores + n) * shape->scale, all(-3e38f));
                    store(scores + n, score);
                    largest = larger(largest, score);
                }
                const float top = largest_of(largest);
                for (int n = 0; n < padded; n += LANES) {
                    vector share = exponential(load(scores + n) - top) * load(may + n);
                    store(scores + n, share);
                    sum += share;
                }
                const float total = sum_of(sum), factor = total == 0 ? 0 : 1 / total;
                for (int n = 0; n < padded; n += LANES) store(scores + n, load(scores + n) * factor);
            }
            gather(keys, width, value + sentence * shape->value_sentence + at, shape->value_row, value_bias + at, rows);
            multiply(queries, w, padded, 1, keys, rows, width, width, result + sentence * shape->result_sentence + at,
                     shape->result_row);
        }
    }
}

/* The gradients by query, key and value, which lie as these do; adds to those by the biases. What is given and made of
 * gradients begins with sentence `first`. Where nothing is turned, that by the key's bias is
 * zero, for it moves all scores of a query alike; a sum would only be the noise of rounding. */
void attention_backward(
    const Shape *shape, long begin, long end, long first, const float *query, const float *key, const float *value,
    const float *query_bias, const float *key_bias, const float *value_bias, const float *weights,
    const float *gradient, float *by_query, float *by_key, float *by_value, float *by_query_bias,
    float *by_key_bias, float *by_value_bias) {
    const int queries = shape->queries, keys = shape->keys, width = shape->width, padded = shape->padded;
    float rows[MAX_WIDTH * MAX_KEYS], turned[MAX_WIDTH * MAX_KEYS], by_scores[MAX_KEYS * MAX_KEYS];
    for (long sentence = begin; sentence < end; sentence++) {
        for (long head = 0; head < shape->heads; head++) {
            const long at = head * width;
            const long at_query = sentence * shape->query_sentence + at, at_key = sentence * shape->key_sentence + at;
            const long at_value = sentence * shape->value_sentence + at;
            float *to_query = by_query + at_query - first * shape->query_sentence;
            float *to_key = by_key + at_key - first * shape->key_sentence;
            float *to_value = by_value + at_value - first * shape->value_sentence;
            const float *g = gradient + (sentence - first) * shape->result_sentence + at;
            const float *w = weights + (sentence * shape->heads + head) * queries * padded;
            gather(keys, width, value + at_value, shape->value_row, value_bias + at, rows);
            turn(keys, width, padded, rows, turned);
            multiply(queries, g, shape->result_row, 1, width, turned, padded, padded, by_scores, padded);
            multiply(keys, w, 1, padded, queries, g, shape->result_row, width, to_value, shape->value_row);
            add_rows(keys, width, to_value, shape->value_row, by_value_bias + at);
            for (int row = 0; row < queries; row++) {
                float *d = by_scores + row * padded;
                const float *p = w + row * padded;
                vector sum = all(0);
                for (int n = 0; n < padded; n += LANES) sum += load(d + n) * load(p + n);
                const float mean = sum_of(sum);
                for (int n = 0; n < padded; n += LANES) store(d + n, load(p + n) * (load(d + n) - mean) * shape->scale);
            }
            gather(keys, width, key + at_key, shape->key_row, key_bias + at, rows);
            rotate(keys, shape, 0, rows, width);
            multiply(queries, by_scores, padded, 1, keys, rows, width, width, to_query, shape->query_row);
            rotate(queries, shape, 1, to_query, shape->query_row);
            add_rows(queries, width, to_query, shape->query_row, by_query_bias + at);
            gather(queries, width, query + at_query, shape->query_row, query_bias + at, rows);
            rotate(queries, shape, 0, rows, width);
            multiply(keys, by_scores, 1, padded, queries, rows, width, width, to_key, shape->key_row);
            rotate(keys, shape, 1, to_key, shape->key_row);
            if (shape->straight) add_rows(keys, width, to_key, shape->key_row, by_key_bias + at);
        }
    }
}

/* max(0, values + bias), in place. */
void relu_forward(long begin, long end, long width, const float *bias, float *values) {
    for (long row = begin; row < end; row++)
        for (long n = 0; n < width; n += LANES) {
            float *at = values + row * width + n;
            store(at, larger(load(at) + load(bias + n), all(0)));
        }
}

/* The gradient before relu, from its values and the gradient after it; adds to that by the bias. */
void relu_backward(
    long begin, long end, long width, const float *values, const float *after, float *before, float *by_bias) {
    for (long row = begin; row < end; row++)
        for (long n = 0; n < width; n += LANES) {
            const long at = row * width + n;
            vector d = pick(load(values + at) > 0, load(after + at), all(0));
            store(before + at, d);
            store(by_bias + n, load(by_bias + n) + d);
        }
}

/* Turns each row of logits into e^(logit - largest of the row), in place; gives each row's largest and sum. */
void exponentials(long begin, long end, long width, float *logits, float *largest, float *sums) {
    const long whole = width / LANES * LANES;
    for (long row = begin; row < end; row++) {
        float *at = logits + row * width;
        vector sum = all(0), tail = all(-INFINITY);
        for (long n = whole; n < width; n++) tail[n - whole] = at[n];
        const float high = largest_in_row(at, width);
        for (long n = 0; n < whole; n += LANES) {
            vector share = exponential(load(at + n) - high);
            store(at + n, share);
            sum += share;
        }
        float total = sum_of(sum);
        tail = exponential(tail - high);
        for (long n = whole; n < width; n++) total += at[n] = tail[n - whole];
        largest[row] = high;
        sums[row] = total;
    }
}
