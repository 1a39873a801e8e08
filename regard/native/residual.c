#include "residual.h"

/* Norms a row in place, whose sum is known; gives 1 / deviation. */
static inline float norm_row(long width, float epsilon, float sum, float *row) {
    const float mean = sum / width;
    vector squares = all(0);
    for (long n = 0; n < width; n += LANES) {
        const vector z = load(row + n) - mean;
        squares += z * z;
    }
    const float factor = 1 / sqrtf(sum_of(squares) / width + epsilon);
    for (long n = 0; n < width; n += LANES) store(row + n, (load(row + n) - mean) * factor);
    return factor;
}

static inline void scale_row(long width, const float *normal, const float *gain, const float *shift, float *result) {
    for (long n = 0; n < width; n += LANES) store(result + n, load(normal + n) * load(gain + n) + load(shift + n));
}

typedef struct {
    float mean, slope;
} Trend;

/* What a row's gradient before gain and shift has in common with a constant and with the row; adds to those by gain and
 * shift. The gradient before the norm is what is left without them, over the deviation. */
static inline Trend trend_of(
    long width, const float *gradient, const float *normal, const float *gain, float *by_gain, float *by_shift) {
    vector sum = all(0), along = all(0);
    for (long n = 0; n < width; n += LANES) {
        const vector g = load(gradient + n), z = load(normal + n), scaled = g * load(gain + n);
        store(by_gain + n, load(by_gain + n) + g * z);
        store(by_shift + n, load(by_shift + n) + g);
        sum += scaled;
        along += scaled * z;
    }
    return (Trend){sum_of(sum) / width, sum_of(along) / width};
}

/* LayerNorm(x + mask (y + bias)) for rows begin to end; keeps the normed rows before gain and shift, and
 * 1 / deviation. mask may be null. */
void add_norm_forward(
    long begin, long end, long width, float epsilon, const float *x, const float *y, const float *bias,
    const float *mask, const float *gain, const float *shift, float *normal, float *inverse, float *result) {
    for (long row = begin; row < end; row++) {
        const long at = row * width;
        vector sum = all(0);
        for (long n = 0; n < width; n += LANES) {
            vector z = load(y + at + n) + load(bias + n);
            if (mask) z *= load(mask + at + n);
            z += load(x + at + n);
            store(normal + at + n, z);
            sum += z;
        }
        inverse[row] = norm_row(width, epsilon, sum_of(sum), normal + at);
        scale_row(width, normal + at, gain, shift, result + at);
    }
}

/* The gradients by x and, with a mask, by y (without one they are the same); adds to those by bias, gain and shift. */
void add_norm_backward(
    long begin, long end, long width, const float *gradient, const float *normal, const float *inverse,
    const float *mask, const float *gain, float *by_x, float *by_y, float *by_bias, float *by_gain, float *by_shift) {
    for (long row = begin; row < end; row++) {
        const long at = row * width;
        const Trend trend = trend_of(width, gradient + at, normal + at, gain, by_gain, by_shift);
        for (long n = 0; n < width; n += LANES) {
            const vector z = load(normal + at + n), scaled = load(gradient + at + n) * load(gain + n);
            vector d = (scaled - trend.mean - z * trend.slope) * inverse[row];
            store(by_x + at + n, d);
            if (mask) {
                d *= load(mask + at + n);
                store(by_y + at + n, d);
            }
            store(by_bias + n, load(by_bias + n) + d);
        }
    }
}

const float *residual_enter(const Residual *residual, long first_row, long rows, long width, const float *x, float *space) {
    x += first_row * width;
    if (!residual->before) return x;
    float *normal = residual->normal + first_row * width;
    for (long row = 0; row < rows; row++) {
        const long at = row * width;
        vector sum = all(0);
        for (long n = 0; n < width; n += LANES) {
            const vector z = load(x + at + n);
            store(normal + at + n, z);
            sum += z;
        }
        residual->inverse[first_row + row] = norm_row(width, residual->epsilon, sum_of(sum), normal + at);
        scale_row(width, normal + at, residual->gain, residual->shift, space + at);
    }
    return space;
}

const float *residual_entered(const Residual *residual, long first_row, long rows, long width, const float *x, float *space) {
    if (!residual->before) return x + first_row * width;
    const float *normal = residual->normal + first_row * width;
    for (long row = 0; row < rows; row++)
        scale_row(width, normal + row * width, residual->gain, residual->shift, space + row * width);
    return space;
}

void residual_leave(
    const Residual *residual, long first_row, long rows, long width, const float *x, const float *y, const float *bias,
    float *result) {
    const long at = first_row * width;
    const float *mask = residual->dropout ? residual->dropout + at : NULL;
    x += at, result += at;
    if (!residual->before) {
        add_norm_forward(
            0, rows, width, residual->epsilon, x, y, bias, mask, residual->gain, residual->shift, residual->normal + at,
            residual->inverse + first_row, result);
        return;
    }
    for (long row = 0; row < rows * width; row += width)
        for (long n = 0; n < width; n += LANES) {
            vector z = load(y + row + n) + load(bias + n);
            if (mask) z *= load(mask + row + n);
            store(result + row + n, load(x + row + n) + z);
        }
}

void residual_leave_back(
    const Residual *residual, long first_row, long rows, long width, const float *gradient, float *by_x, float *by_y,
    float *by_bias) {
    const long at = first_row * width;
    const float *mask = residual->dropout ? residual->dropout + at : NULL;
    gradient += at, by_x += at;
    if (!residual->before) {
        add_norm_backward(
            0, rows, width, gradient, residual->normal + at, residual->inverse + first_row, mask, residual->gain, by_x,
            by_y, by_bias, residual->by_gain, residual->by_shift);
        if (!mask) memcpy(by_y, by_x, rows * width * sizeof(float));
        return;
    }
    memcpy(by_x, gradient, rows * width * sizeof(float));
    for (long row = 0; row < rows * width; row += width)
        for (long n = 0; n < width; n += LANES) {
            vector d = load(gradient + row + n);
            if (mask) d *= load(mask + row + n);
            store(by_y + row + n, d);
            store(by_bias + n, load(by_bias + n) + d);
        }
}

void residual_enter_back(const Residual *residual, long first_row, long rows, long width, const float *by_entered, float *by_x) {
    const float *normal = residual->normal + first_row * width, *gain = residual->gain;
    by_x += first_row * width;
    for (long row = 0; row < rows; row++) {
        const long at = row * width;
        const float factor = residual->inverse[first_row + row];
        const Trend trend =
            trend_of(width, by_entered + at, normal + at, gain, residual->by_gain, residual->by_shift);
        for (long n = 0; n < width; n += LANES) {
            const vector z = load(normal + at + n), scaled = load(by_entered + at + n) * load(gain + n);
            store(by_x + at + n, load(by_x + at + n) + (scaled - trend.mean - z * trend.slope) * factor);
        }
    }
}
