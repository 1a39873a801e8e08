/* A Transformer in use: its encoder over whole sentences, its decoder over one new token of each hypothesis. Rows are
 * packed: there is no padding anywhere. */

#ifndef REGARD_LAYERS_H
#define REGARD_LAYERS_H

#include "products.h"

typedef struct {
    const float *gain, *shift; /* null where there is no norm */
} Norm;

typedef struct {
    Matrix query_key_value, attention_output, inner, outer;
    Norm attention_norm, feed_forward_norm;
} EncoderLayer;

typedef struct {
    Matrix query_key_value, attention_output, query, key_value, cross_output, inner, outer;
    Norm attention_norm, cross_norm, feed_forward_norm;
} DecoderLayer;

typedef struct {
    const float *table, *positions; /* [vocabulary, width], [longest, width] or null */
    float scale;
} Embedding;

typedef struct {
    long width, heads, widest, norm_first; /* widest: of all inner layers, and 3 width */
    float score_scale, epsilon;
    Embedding source, target;
    long encoder_layers, decoder_layers;
    const EncoderLayer *encoder;
    const DecoderLayer *decoder;
    Norm encoder_norm, decoder_norm;
    Matrix output;
    long before, total; /* decoder layers times width: of the models before it, where several search, and of all */
    const float *straight, *crossed; /* [longest, width / heads]: see `rotated`; null where queries and keys are as made */
} Model;

typedef struct {
    float *wide, *narrow; /* [rows, widest], [rows, width] */
    float *scores;        /* [positions rounded up] */
    float *turned;        /* [width, positions rounded up] */
    const float **places; /* [positions] */
    Quantised quantised;  /* of [rows, widest] */
} Space;

/* The rows of a step. Keys and values of a row at one step lie together: of each model [layers, 2 width]. */
typedef struct {
    long rows;
    const int32_t *tokens, *positions; /* [rows] */
    float *const *own;                 /* [rows]: where this step's keys and values go */
    const float *const *earlier;       /* [rows, longest]: where those of earlier steps are, `positions` of them */
    long longest;
    const float *const *memory;   /* [rows]: what the row's sentence left, */
    const int32_t *memory_length; /* [rows]: which has so many positions */
} Rows;

static inline long rounded_up(long count) { return (count + ROUNDED - 1) / ROUNDED * ROUNDED; }

/* What a sentence of so many positions leaves for the decoders, in floats: for every layer of each model keys [width,
 * positions rounded up], turned, and values [positions, width]. */
static inline long memory_size(const Model *model, long length) {
    return model->total * (rounded_up(length) + length);
}

/* The keys and values of a row at one step, of all models, in floats. */
static inline long position_size(const Model *model) { return 2 * model->total; }

/* States [rows, width] of sentences side by side, of these lengths. */
void encode(
    const Model *model, long sentences, const int32_t *lengths, const int32_t *tokens, Space space, float *states);

/* From states [rows, width], what the sentences leave for the model's decoder, each in its place among all models'. */
void remember(
    const Model *model, long sentences, const int32_t *lengths, const float *states, Space space, float *memory);

/* Features [rows, width] after one more token of each row. */
void decode(const Model *model, const Rows *rows, Space space, float *x);

#endif
