#include "layers.h"

static void norm_rows(const Model *model, long rows, Norm norm, const float *x, float *to) {
    const long width = model->width;
    for (long row = 0; row < rows; row++, x += width, to += width) {
        vector sum = all(0), squares = all(0);
        for (long n = 0; n < width; n += LANES) sum += load(x + n);
        const float mean = sum_of(sum) / width;
        for (long n = 0; n < width; n += LANES) {
            const vector z = load(x + n) - mean;
            squares += z * z;
        }
        const float factor = 1 / sqrtf(sum_of(squares) / width + model->epsilon);
        for (long n = 0; n < width; n += LANES)
            store(to + n, (load(x + n) - mean) * factor * load(norm.gain + n) + load(norm.shift + n));
    }
}

/* What a sub-layer receives: x itself, or x normed. */
static const float *enter(const Model *model, long rows, Norm norm, const float *x, float *space) {
    if (!model->norm_first) return x;
    norm_rows(model, rows, norm, x, space);
    return space;
}

/* x becomes x + y, normed where the norm comes after. */
static void leave(const Model *model, long rows, Norm norm, const float *y, float *x) {
    for (long n = 0; n < rows * model->width; n += LANES) store(x + n, load(x + n) + load(y + n));
    if (!model->norm_first) norm_rows(model, rows, norm, x, x);
}

static void feed_forward(
    const Model *model, long rows, const Matrix *inner, const Matrix *outer, Norm norm, Space space, float *x) {
    const float *entered = enter(model, rows, norm, x, space.narrow);
    apply(inner, rows, entered, space.quantised, 1, space.wide);
    apply(outer, rows, space.wide, space.quantised, 0, space.narrow);
    leave(model, rows, norm, space.narrow, x);
}

static void embed(const Embedding *embedding, long width, int32_t token, int32_t position, float *to) {
    const float *from = embedding->table + token * width;
    const float *place = embedding->positions ? embedding->positions + position * width : 0;
    for (long n = 0; n < width; n += LANES) {
        vector value = load(from + n) * embedding->scale;
        if (place) value += load(place + n);
        store(to + n, value);
    }
}

/* Queries and keys [2 width] of one position are turned, where the model wants that. */
static void rotate(const Model *model, long position, float *made) {
    const long each = model->width / model->heads;
    for (long first = 0; model->straight && first < 2 * model->width; first += each)
        for (long n = 0; n < each; n += LANES) {
            const long at = position * each + n;
            store(made + first + n, rotated(load(made + first + n), load(model->straight + at), load(model->crossed + at)));
        }
}

/* Scores [count, rounded up] become shares, but for a factor that is given back; those after `count` become 0. */
static float shares(long count, float *score) {
    const long padded = rounded_up(count);
    for (long n = count; n < padded; n++) score[n] = -INFINITY;
    vector largest = all(-INFINITY), total = all(0);
    for (long n = 0; n < padded; n += LANES) largest = larger(largest, load(score + n));
    const float top = largest_of(largest);
    for (long n = 0; n < padded; n += LANES) store(score + n, exponential(load(score + n) - top));
    for (long n = count; n < padded; n++) score[n] = 0;
    for (long n = 0; n < padded; n += LANES) total += load(score + n);
    return 1 / sum_of(total);
}

/* Attention of one query [width] to keys and values, `width` apart, in `count` places; result [width]. */
static void attend_to_places(
    const Model *model, const float *query, long count, const float *const *places, long offset, float *score,
    float *result) {
    const long width = model->width, each = width / model->heads;
    for (long first = 0; first < width; first += each) {
        for (long n = 0; n < count; n++) {
            const float *key = places[n] + offset;
            vector sum = all(0);
            for (long column = first; column < first + each; column += LANES)
                sum += load(query + column) * load(key + column);
            score[n] = sum_of(sum) * model->score_scale;
        }
        const float factor = shares(count, score);
        for (long column = first; column < first + each; column += LANES) {
            vector sum = all(0);
            for (long n = 0; n < count; n++) sum += all(score[n]) * load(places[n] + offset + width + column);
            store(result + column, sum * factor);
        }
    }
}

/* Attention of one query [width] to keys that are turned [width, count rounded up], and to values `distance` apart. */
static void attend_to_sentence(
    const Model *model, const float *query, long count, const float *turned, const float *values, long distance,
    float *score, float *result) {
    const long width = model->width, each = width / model->heads, padded = rounded_up(count);
    for (long first = 0; first < width; first += each) {
        for (long n = 0; n < padded; n += LANES) {
            vector even = all(0), odd = all(0);
            for (long column = first; column < first + each; column += 2) {
                even += all(query[column]) * load(turned + column * padded + n);
                odd += all(query[column + 1]) * load(turned + (column + 1) * padded + n);
            }
            store(score + n, (even + odd) * model->score_scale);
        }
        const float factor = shares(count, score);
        for (long column = first; column < first + each; column += LANES) {
            vector even = all(0), odd = all(0);
            const float *value = values + column;
            long n = 0;
            for (; n + 1 < count; n += 2) {
                even += all(score[n]) * load(value + n * distance);
                odd += all(score[n + 1]) * load(value + (n + 1) * distance);
            }
            if (n < count) even += all(score[n]) * load(value + n * distance);
            store(result + column, (even + odd) * factor);
        }
    }
}

/* Columns of keys [count, width], `distance` apart, become rows [width, count rounded up], zeros at the end. */
static void turn(long count, long width, const float *keys, long distance, float *turned) {
    const long padded = rounded_up(count);
    for (long column = 0; column < width; column++) {
        float *to = turned + column * padded;
        for (long n = 0; n < count; n++) to[n] = keys[n * distance + column];
        for (long n = count; n < padded; n++) to[n] = 0;
    }
}

void encode(
    const Model *model, long sentences, const int32_t *lengths, const int32_t *tokens, Space space, float *x) {
    const long width = model->width;
    long rows = 0;
    for (long sentence = 0; sentence < sentences; sentence++)
        for (long n = 0; n < lengths[sentence]; n++, rows++)
            embed(&model->source, width, tokens[rows], n, x + rows * width);
    for (long number = 0; number < model->encoder_layers; number++) {
        const EncoderLayer *layer = model->encoder + number;
        const float *entered = enter(model, rows, layer->attention_norm, x, space.narrow);
        apply(&layer->query_key_value, rows, entered, space.quantised, 0, space.wide);
        for (long sentence = 0, first = 0; sentence < sentences; first += lengths[sentence++]) {
            float *made = space.wide + first * 3 * width;
            for (long n = 0; n < lengths[sentence]; n++) rotate(model, n, made + n * 3 * width);
            turn(lengths[sentence], width, made + width, 3 * width, space.turned);
            for (long n = 0; n < lengths[sentence]; n++)
                attend_to_sentence(
                    model, made + n * 3 * width, lengths[sentence], space.turned, made + 2 * width, 3 * width,
                    space.scores, space.narrow + (first + n) * width);
        }
        apply(&layer->attention_output, rows, space.narrow, space.quantised, 0, space.wide);
        leave(model, rows, layer->attention_norm, space.wide, x);
        feed_forward(model, rows, &layer->inner, &layer->outer, layer->feed_forward_norm, space, x);
    }
    if (model->encoder_norm.gain) norm_rows(model, rows, model->encoder_norm, x, x);
}

void remember(
    const Model *model, long sentences, const int32_t *lengths, const float *states, Space space, float *memory) {
    const long width = model->width;
    long rows = 0;
    for (long sentence = 0; sentence < sentences; sentence++) rows += lengths[sentence];
    for (long number = 0; number < model->decoder_layers; number++) {
        apply(&model->decoder[number].key_value, rows, states, space.quantised, 0, space.wide);
        const float *made = space.wide;
        float *to = memory;
        for (long sentence = 0; sentence < sentences; sentence++) {
            const long length = lengths[sentence], each = rounded_up(length) + length;
            float *keys = to + (model->before + number * width) * each, *values = keys + width * rounded_up(length);
            turn(length, width, made, 2 * width, keys);
            for (long n = 0; n < length; n++)
                memcpy(values + n * width, made + n * 2 * width + width, width * sizeof(float));
            made += length * 2 * width;
            to += memory_size(model, length);
        }
    }
}

void decode(const Model *model, const Rows *given, Space space, float *x) {
    const long rows = given->rows, width = model->width;
    for (long row = 0; row < rows; row++)
        embed(&model->target, width, given->tokens[row], given->positions[row], x + row * width);
    for (long number = 0; number < model->decoder_layers; number++) {
        const DecoderLayer *layer = model->decoder + number;
        const long offset = 2 * (model->before + number * width);

        const float *entered = enter(model, rows, layer->attention_norm, x, space.narrow);
        apply(&layer->query_key_value, rows, entered, space.quantised, 0, space.wide);
        for (long row = 0; row < rows; row++) {
            float *made = space.wide + row * 3 * width;
            const long before = given->positions[row];
            rotate(model, before, made);
            memcpy(given->own[row] + offset, made + width, 2 * width * sizeof(float));
            memcpy(space.places, given->earlier + row * given->longest, before * sizeof(float *));
            space.places[before] = given->own[row];
            attend_to_places(model, made, before + 1, space.places, offset, space.scores, space.narrow + row * width);
        }
        apply(&layer->attention_output, rows, space.narrow, space.quantised, 0, space.wide);
        leave(model, rows, layer->attention_norm, space.wide, x);

        entered = enter(model, rows, layer->cross_norm, x, space.narrow);
        apply(&layer->query, rows, entered, space.quantised, 0, space.wide);
        for (long row = 0; row < rows; row++) {
            const long length = given->memory_length[row], keys = width * rounded_up(length);
            const float *memory =
                given->memory[row] + (model->before + number * width) * (rounded_up(length) + length);
            attend_to_sentence(
                model, space.wide + row * width, length, memory, memory + keys, width, space.scores,
                space.narrow + row * width);
        }
        apply(&layer->cross_output, rows, space.narrow, space.quantised, 0, space.wide);
        leave(model, rows, layer->cross_norm, space.wide, x);

        feed_forward(model, rows, &layer->inner, &layer->outer, layer->feed_forward_norm, space, x);
    }
    if (model->decoder_norm.gain) norm_rows(model, rows, model->decoder_norm, x, x);
}

/* The same, and the logits [rows, vocabulary] of what may come next. */
void decode_logits(const Model *model, const Rows *rows, Space space, float *x, float *logits) {
    decode(model, rows, space, x);
    apply(&model->output, rows->rows, x, space.quantised, 0, logits);
}
