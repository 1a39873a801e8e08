/* Whole sub-layers of a Transformer that is trained: attention or the feed-forward network, with residual connection and
 * layer norm. A few sentences at a time go through all of it, so that what one step makes is still in the
 * cache when the next one needs it; and gradients that only lead to other gradients are never written to memory. */

#include "projections.h"
#include "residual.h"

#define CHUNK_ROWS 256

typedef struct {
    const float *weight, *bias; /* [outputs, inputs], [outputs] */
    float *by_weight, *by_bias; /* their gradients, the latter zero at first; null in the forward pass */
} Linear;

typedef struct {
    Products products;
    long sentences, length, source, width; /* length and source: positions of x and of the memory */
    Shape shape;
    const uint8_t *mask;
    const float *x, *memory; /* [sentences, length, width]; [sentences, source, width], null for self-attention */
    Linear first, second;    /* of x: queries, or queries, keys and values; of the memory: keys and values */
    Linear output;
    Residual residual;
    float *made, *made_of_memory, *weights, *attended; /* kept from the forward pass */
    float *space;                                      /* for a chunk: see the functions */
    float *result;
    const float *gradient;
    float *by_x, *by_memory;
} Attention;

typedef struct {
    Products products;
    long rows, width, inner_width;
    const float *x;
    Linear inner, outer;
    Residual residual;
    float *hidden; /* [rows, inner_width], kept from the forward pass */
    float *space;
    float *result;
    const float *gradient;
    float *by_x;
} FeedForward;

static long at_a_time(long length) {
    long sentences = CHUNK_ROWS / length;
    return sentences > 0 ? sentences : 1;
}

/* From the gradient by what a layer made of the sub-layer's input, [rows, outputs], that by x; space: [rows, width]. */
static void back_to_x(
    const Residual *residual, Products products, long row, long rows, long width, long outputs, const float *by_made,
    Factor weight, float *space, float *by_x) {
    if (residual->before) {
        project_back(products, rows, width, outputs, by_made, weight, 0, space);
        residual_enter_back(residual, row, rows, width, space, by_x);
    } else {
        project_back(products, rows, width, outputs, by_made, weight, 1, by_x + row * width);
    }
}

/* space: [2 chunk rows, width], and the weights, laid out */
void attention_sublayer_forward(const Attention *a) {
    const long width = a->width, outputs = a->memory ? width : 3 * width, step = at_a_time(a->length);
    float *y = a->space, *space = y + step * a->length * width, *rest = space + step * a->length * width;
    const Factor output = ready_forward(a->products, width, width, a->output.weight, &rest);
    const Factor first = ready_forward(a->products, width, outputs, a->first.weight, &rest);
    const Factor second = a->memory ? ready_forward(a->products, width, 2 * width, a->second.weight, &rest) : first;
    for (long begin = 0; begin < a->sentences; begin += step) {
        const long end = begin + step < a->sentences ? begin + step : a->sentences;
        const long row = begin * a->length, rows = (end - begin) * a->length;
        const float *key = a->made + width, *key_bias = a->first.bias + width;
        const float *x = residual_enter(&a->residual, row, rows, width, a->x, space);
        project(a->products, rows, width, outputs, x, first, a->made + row * outputs);
        if (a->memory) {
            const long source_row = begin * a->source;
            project(a->products, (end - begin) * a->source, width, 2 * width, a->memory + source_row * width, second,
                    a->made_of_memory + source_row * 2 * width);
            key = a->made_of_memory;
            key_bias = a->second.bias;
        }
        attention_forward(&a->shape, begin, end, a->made, key, key + width, a->first.bias, key_bias, key_bias + width,
                          a->mask, a->weights, a->attended);
        project(a->products, rows, width, width, a->attended + row * width, output, y);
        residual_leave(&a->residual, row, rows, width, a->x, y, a->output.bias, a->result);
    }
}

/* space: [chunk rows, 6 width], for the memory [chunk rows of the source, 2 width], and the weights, laid out */
void attention_sublayer_backward(const Attention *a) {
    const long width = a->width, outputs = a->memory ? width : 3 * width, step = at_a_time(a->length);
    float *by_y = a->space, *by_attended = by_y + step * a->length * width;
    float *space = by_attended + step * a->length * width, *by_made = space + step * a->length * width;
    float *by_made_of_memory = by_made + step * a->length * outputs;
    float *rest = by_made_of_memory + (a->memory ? step * a->source * 2 * width : 0);
    const Factor output = ready_back(a->products, width, width, a->output.weight, &rest);
    const Factor first = ready_back(a->products, width, outputs, a->first.weight, &rest);
    const Factor second = a->memory ? ready_back(a->products, width, 2 * width, a->second.weight, &rest) : first;
    for (long begin = 0; begin < a->sentences; begin += step) {
        const long end = begin + step < a->sentences ? begin + step : a->sentences;
        const long row = begin * a->length, rows = (end - begin) * a->length;
        const int keep = begin > 0;
        residual_leave_back(&a->residual, row, rows, width, a->gradient, a->by_x, by_y, a->output.by_bias);
        weight_gradient(a->products, rows, width, width, by_y, a->attended + row * width, keep, a->output.by_weight);
        project_back(a->products, rows, width, width, by_y, output, 0, by_attended);

        const float *key = a->made + width, *key_bias = a->first.bias + width;
        float *by_key = by_made + width, *by_key_bias = a->first.by_bias + width;
        if (a->memory) {
            key = a->made_of_memory, key_bias = a->second.bias;
            by_key = by_made_of_memory, by_key_bias = a->second.by_bias;
        }
        attention_backward(&a->shape, begin, end, begin, a->made, key, key + width, a->first.bias, key_bias,
                           key_bias + width, a->weights, by_attended, by_made, by_key, by_key + width, a->first.by_bias,
                           by_key_bias, by_key_bias + width);
        const float *x = residual_entered(&a->residual, row, rows, width, a->x, space);
        weight_gradient(a->products, rows, width, outputs, by_made, x, keep, a->first.by_weight);
        back_to_x(&a->residual, a->products, row, rows, width, outputs, by_made, first, by_y, a->by_x);
        if (a->memory) {
            const long source_row = begin * a->source, source_rows = (end - begin) * a->source;
            weight_gradient(a->products, source_rows, width, 2 * width, by_made_of_memory,
                            a->memory + source_row * width, keep, a->second.by_weight);
            project_back(a->products, source_rows, width, 2 * width, by_made_of_memory, second, 0,
                         a->by_memory + source_row * width);
        }
    }
}

/* space: [2 chunk rows, width], and the weights, laid out */
void feed_forward_sublayer_forward(const FeedForward *f) {
    const long width = f->width, inner = f->inner_width;
    float *y = f->space, *space = y + CHUNK_ROWS * width, *rest = space + CHUNK_ROWS * width;
    const Factor outer_weight = ready_forward(f->products, inner, width, f->outer.weight, &rest);
    const Factor inner_weight = ready_forward(f->products, width, inner, f->inner.weight, &rest);
    for (long row = 0; row < f->rows; row += CHUNK_ROWS) {
        const long rows = row + CHUNK_ROWS < f->rows ? CHUNK_ROWS : f->rows - row;
        float *hidden = f->hidden + row * inner;
        const float *x = residual_enter(&f->residual, row, rows, width, f->x, space);
        project_positive(f->products, rows, width, inner, x, inner_weight, f->inner.bias, hidden);
        project(f->products, rows, inner, width, hidden, outer_weight, y);
        residual_leave(&f->residual, row, rows, width, f->x, y, f->outer.bias, f->result);
    }
}

/* space: [chunk rows, 2 width + 2 inner_width], and the weights, laid out */
void feed_forward_sublayer_backward(const FeedForward *f) {
    const long width = f->width, inner = f->inner_width;
    float *by_y = f->space, *space = by_y + CHUNK_ROWS * width;
    float *by_hidden = space + CHUNK_ROWS * width, *before = by_hidden + CHUNK_ROWS * inner;
    float *rest = before + CHUNK_ROWS * inner;
    const Factor outer_weight = ready_back(f->products, inner, width, f->outer.weight, &rest);
    const Factor inner_weight = ready_back(f->products, width, inner, f->inner.weight, &rest);
    for (long row = 0; row < f->rows; row += CHUNK_ROWS) {
        const long rows = row + CHUNK_ROWS < f->rows ? CHUNK_ROWS : f->rows - row;
        const int keep = row > 0;
        const float *hidden = f->hidden + row * inner;
        residual_leave_back(&f->residual, row, rows, width, f->gradient, f->by_x, by_y, f->outer.by_bias);
        weight_gradient(f->products, rows, inner, width, by_y, hidden, keep, f->outer.by_weight);
        project_back(f->products, rows, inner, width, by_y, outer_weight, 0, by_hidden);
        relu_backward(0, rows, inner, hidden, by_hidden, before, f->inner.by_bias);
        const float *x = residual_entered(&f->residual, row, rows, width, f->x, space);
        weight_gradient(f->products, rows, width, inner, before, x, keep, f->inner.by_weight);
        back_to_x(&f->residual, f->products, row, rows, width, inner, before, inner_weight, by_y, f->by_x);
    }
}
