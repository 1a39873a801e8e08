/* One step of a Transformer's decoder, for rows that are hypotheses of some sentences, and the choice of the best tokens.
 * Matrix products are those of a library, whose `sgemm_` is handed in. Keys and values of earlier steps stay where
 * they were written; each row knows, for every step, in which place its ancestor left them. */

#include "kernels.h"

#define MAX_BEST 128 /* must agree with decoder.py */

typedef struct {
    const float *weight, *bias; /* [outputs, inputs], [outputs] */
} Linear;

typedef struct {
    Linear query_key_value, attention_output, query, cross_output, inner, outer;
    Linear attention_norm, cross_norm, feed_forward_norm; /* gain and shift */
} Layer;

typedef struct {
    long layers, width, heads, inner, vocabulary, norm_first;
    float embedding_scale, score_scale, epsilon;
    const float *embedding, *positions; /* [vocabulary, width], [longest, width] or null */
    const Layer *layer;
    Linear final_norm, output; /* final_norm.weight is null where there is none; output.bias too */
    Product product;
} Decoder;

typedef struct {
    long rows, step, sentences, source; /* step: how many went before; source: positions of the longest sentence */
    const int64_t *tokens;              /* [rows] */
    const int32_t *sentence;            /* [rows] */
    const int32_t *source_length;       /* [sentences] */
    const int32_t *ancestor;            /* [rows, step]: the row that a row was at each earlier step */
    float *const *made;                 /* of each step, this one included: keys and values [layers, its rows, 2 width] */
    const int64_t *rows_then;           /* of each step: its rows */
    const float *memory;                /* [layers, sentences, source, 2 width], bias added */
    float *x, *wide, *narrow;           /* [rows, width], [rows, max(3 width, inner)], [rows, width] */
    float *scores;                      /* [heads, positions rounded up to LANES] */
    float *logits;                      /* [rows, vocabulary] */
} Step;

static void norm_row(long width, float epsilon, Linear norm, const float *from, float *to) {
    vector sum = all(0), squares = all(0);
    for (long n = 0; n < width; n += LANES) sum += load(from + n);
    const float mean = sum_of(sum) / width;
    for (long n = 0; n < width; n += LANES) {
        vector z = load(from + n) - mean;
        squares += z * z;
    }
    const float factor = 1 / sqrtf(sum_of(squares) / width + epsilon);
    for (long n = 0; n < width; n += LANES)
        store(to + n, (load(from + n) - mean) * factor * load(norm.weight + n) + load(norm.bias + n));
}

/* What a sub-layer receives: x itself, or x normed into `space`. */
static const float *enter(const Decoder *decoder, long rows, Linear norm, const float *x, float *space) {
    if (!decoder->norm_first) return x;
    for (long row = 0; row < rows; row++)
        norm_row(decoder->width, decoder->epsilon, norm, x + row * decoder->width, space + row * decoder->width);
    return space;
}

/* x becomes x + y + bias, normed where the norm comes after. */
static void leave(const Decoder *decoder, long rows, Linear norm, const float *y, const float *bias, float *x) {
    const long width = decoder->width;
    for (long row = 0; row < rows; row++) {
        float *at = x + row * width;
        for (long n = 0; n < width; n += LANES) store(at + n, load(at + n) + load(y + row * width + n) + load(bias + n));
        if (!decoder->norm_first) norm_row(width, decoder->epsilon, norm, at, at);
    }
}

/* Attention of one query to `count` rows of keys and values; scores: [heads, count rounded up]. */
static void attend(
    const Decoder *decoder, const float *query, long count, const float *const *rows, float *scores, float *result) {
    const long width = decoder->width, heads = decoder->heads, each = width / heads;
    const long padded = (count + LANES - 1) / LANES * LANES;
    for (long head = 0; head < heads; head++) {
        float *score = scores + head * padded;
        for (long n = count; n < padded; n++) score[n] = -INFINITY;
        for (long n = 0; n < count; n++) {
            vector sum = all(0);
            for (long column = head * each; column < (head + 1) * each; column += LANES)
                sum += load(query + column) * load(rows[n] + column);
            score[n] = sum_of(sum) * decoder->score_scale;
        }
        vector largest = all(-INFINITY), total = all(0);
        for (long n = 0; n < padded; n += LANES) largest = larger(largest, load(score + n));
        const float top = largest_of(largest);
        for (long n = 0; n < padded; n += LANES) {
            vector share = exponential(load(score + n) - top);
            if (n + LANES > count)
                for (long lane = count - n; lane < LANES; lane++) share[lane] = 0;
            store(score + n, share);
            total += share;
        }
        const float factor = 1 / sum_of(total);
        for (long column = head * each; column < (head + 1) * each; column += LANES) {
            vector sum = all(0);
            for (long n = 0; n < count; n++) sum += score[n] * load(rows[n] + width + column);
            store(result + column, sum * factor);
        }
    }
}

/* The key and value that a row made at a step. */
static inline float *at(const Step *step, long layer, long number, long row, long width) {
    return step->made[number] + (layer * step->rows_then[number] + row) * 2 * width;
}

/* The logits [rows, vocabulary] after one more token of each row. */
void decoder_step(const Decoder *decoder, const Step *step) {
    const long rows = step->rows, width = decoder->width, inner = decoder->inner;
    const long count = step->step + 1, most = count > step->source ? count : step->source;
    const float *pointers[most];
    float *x = step->x, *wide = step->wide, *narrow = step->narrow;
    for (long row = 0; row < rows; row++) {
        const float *from = decoder->embedding + step->tokens[row] * width;
        const float *position = decoder->positions ? decoder->positions + step->step * width : NULL;
        for (long n = 0; n < width; n += LANES) {
            vector value = load(from + n) * decoder->embedding_scale;
            if (position) value += load(position + n);
            store(x + row * width + n, value);
        }
    }
    for (long number = 0; number < decoder->layers; number++) {
        const Layer *layer = decoder->layer + number;
        const float *memory = step->memory + number * step->sentences * step->source * 2 * width;

        const float *entered = enter(decoder, rows, layer->attention_norm, x, narrow);
        project(decoder->product, rows, width, 3 * width, entered, layer->query_key_value.weight, wide);
        for (long row = 0; row < rows; row++) {
            float *made = wide + row * 3 * width, *place = at(step, number, step->step, row, width);
            for (long n = 0; n < 3 * width; n += LANES) {
                vector value = load(made + n) + load(layer->query_key_value.bias + n);
                store(n < width ? made + n : place + n - width, value);
            }
        }
        for (long row = 0; row < rows; row++) {
            for (long n = 0; n < step->step; n++)
                pointers[n] = at(step, number, n, step->ancestor[row * step->step + n], width);
            pointers[step->step] = at(step, number, step->step, row, width);
            attend(decoder, wide + row * 3 * width, count, pointers, step->scores, narrow + row * width);
        }
        project(decoder->product, rows, width, width, narrow, layer->attention_output.weight, wide);
        leave(decoder, rows, layer->attention_norm, wide, layer->attention_output.bias, x);

        entered = enter(decoder, rows, layer->cross_norm, x, narrow);
        project(decoder->product, rows, width, width, entered, layer->query.weight, wide);
        for (long row = 0; row < rows; row++) {
            const float *keys = memory + step->sentence[row] * step->source * 2 * width;
            const long length = step->source_length[step->sentence[row]];
            for (long n = 0; n < length; n++) pointers[n] = keys + n * 2 * width;
            for (long n = 0; n < width; n += LANES)
                store(wide + row * width + n, load(wide + row * width + n) + load(layer->query.bias + n));
            attend(decoder, wide + row * width, length, pointers, step->scores, narrow + row * width);
        }
        project(decoder->product, rows, width, width, narrow, layer->cross_output.weight, wide);
        leave(decoder, rows, layer->cross_norm, wide, layer->cross_output.bias, x);

        entered = enter(decoder, rows, layer->feed_forward_norm, x, narrow);
        project(decoder->product, rows, width, inner, entered, layer->inner.weight, wide);
        for (long row = 0; row < rows; row++)
            for (long n = 0; n < inner; n += LANES) {
                float *at = wide + row * inner + n;
                store(at, larger(load(at) + load(layer->inner.bias + n), all(0)));
            }
        project(decoder->product, rows, inner, width, wide, layer->outer.weight, narrow);
        leave(decoder, rows, layer->feed_forward_norm, narrow, layer->outer.bias, x);
    }
    if (decoder->final_norm.weight)
        for (long row = 0; row < rows; row++)
            norm_row(width, decoder->epsilon, decoder->final_norm, x + row * width, x + row * width);
    project(decoder->product, rows, width, decoder->vocabulary, x, decoder->output.weight, step->logits);
    if (decoder->output.bias)
        for (long row = 0; row < rows; row++)
            for (long n = 0; n < decoder->vocabulary; n++) step->logits[row * decoder->vocabulary + n] += decoder->output.bias[n];
}

/* The `count` best of each row's logits, best first, ties in the order of tokens: log-probabilities and numbers. Some
 * tokens are forbidden, but keep their share of the probability. */
void best_tokens(
    long begin, long end, long vocabulary, long count, const float *logits, long forbidden, const int64_t *never,
    float *log_probabilities, int64_t *tokens) {
    const long whole = vocabulary / LANES * LANES;
    for (long row = begin; row < end; row++) {
        const float *at = logits + row * vocabulary;
        float value[MAX_BEST] = {0}, largest = -INFINITY, bound = -INFINITY;
        int64_t number[MAX_BEST];
        long held = 0;
        for (long n = 0; n < vocabulary; n += LANES) {
            const long lanes = n < whole ? LANES : vocabulary - n;
            if (lanes == LANES && held == count && !(largest_of(load(at + n)) > bound)) continue;
            for (long lane = 0; lane < lanes; lane++) {
                const float candidate = at[n + lane];
                if (held == count && !(candidate > bound)) continue;
                largest = candidate > largest ? candidate : largest;
                int allowed = 1;
                for (long which = 0; which < forbidden; which++) allowed &= never[which] != n + lane;
                if (!allowed) continue;
                long place = held < count ? held++ : count - 1;
                for (; place > 0 && value[place - 1] < candidate; place--) {
                    value[place] = value[place - 1];
                    number[place] = number[place - 1];
                }
                value[place] = candidate;
                number[place] = n + lane;
                bound = value[held - 1];
            }
        }
        vector sum = all(0);
        for (long n = 0; n < whole; n += LANES) sum += exponential(load(at + n) - largest);
        double total = sum_of(sum);
        for (long n = whole; n < vocabulary; n++) total += expf(at[n] - largest);
        const double normaliser = largest + log(total);
        for (long n = 0; n < count; n++) {
            log_probabilities[row * count + n] = n < held ? value[n] - normaliser : -INFINITY;
            tokens[row * count + n] = n < held ? number[n] : 0;
        }
    }
}
