/* Vectors as wide as the processor's registers (16 floats with AVX-512, else 8), with the extensions of GCC and Clang:
 * any processor that these know has them. */

#ifndef REGARD_VECTORS_H
#define REGARD_VECTORS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) || defined(__AVX__)
#include <immintrin.h>
#endif

/* Wider vectors than registers are cut up by the compiler, which keeps few of them in registers. */
#if defined(__AVX512F__)
#define LANES 16
#define EACH_LANE(DO) \
    DO(0), DO(1), DO(2), DO(3), DO(4), DO(5), DO(6), DO(7), DO(8), DO(9), DO(10), DO(11), DO(12), DO(13), DO(14), DO(15)
#else
#define LANES 8
#define EACH_LANE(DO) DO(0), DO(1), DO(2), DO(3), DO(4), DO(5), DO(6), DO(7)
#endif
#define ROUNDED 16 /* rows are as long as a multiple of this on every processor; must agree with library.py */

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t integers __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vector load(const float *from) { return *(const vector *)from; }
static inline void store(float *to, vector value) { *(vector *)to = value; }
static inline vector all(float value) {
#define VALUE(lane) value
    return (vector){EACH_LANE(VALUE)};
#undef VALUE
}

static inline vector pick(integers condition, vector yes, vector no) {
    return (vector)((condition & (integers)yes) | (~condition & (integers)no));
}

/* Where a is not a number, so is the result. */
#if defined(__AVX512F__)
static inline vector smaller(vector a, vector b) { return (vector)_mm512_min_ps((__m512)b, (__m512)a); }
static inline vector larger(vector a, vector b) { return (vector)_mm512_max_ps((__m512)b, (__m512)a); }
#elif defined(__AVX__)
static inline vector smaller(vector a, vector b) { return (vector)_mm256_min_ps((__m256)b, (__m256)a); }
static inline vector larger(vector a, vector b) { return (vector)_mm256_max_ps((__m256)b, (__m256)a); }
#else
static inline vector smaller(vector a, vector b) { return pick(b < a, b, a); }
static inline vector larger(vector a, vector b) { return pick(b > a, b, a); }
#endif

/* A vector with its lanes `distance` (1, 2, 4 or 8) apart changed for each other. */
#define AWAY_1(lane) ((lane) ^ 1)
#define AWAY_2(lane) ((lane) ^ 2)
#define AWAY_4(lane) ((lane) ^ 4)
#define AWAY_8(lane) ((lane) ^ 8)
#if defined(__clang__)
#define EXCHANGED(value, distance) __builtin_shufflevector(value, value, EACH_LANE(AWAY_##distance))
#else
#define EXCHANGED(value, distance) __builtin_shuffle(value, (integers){EACH_LANE(AWAY_##distance)})
#endif

/* Pairs of neighbours turned: straight holds the cosines, each twice, and crossed the sines, the first of each two negative. */
static inline vector rotated(vector value, vector straight, vector crossed) {
    return value * straight + EXCHANGED(value, 1) * crossed;
}

static inline float sum_of(vector value) {
#if LANES > 8
    value += EXCHANGED(value, 8);
#endif
    value += EXCHANGED(value, 4);
    value += EXCHANGED(value, 2);
    value += EXCHANGED(value, 1);
    return value[0];
}

static inline float largest_of(vector value) {
#if LANES > 8
    value = larger(value, EXCHANGED(value, 8));
#endif
    value = larger(value, EXCHANGED(value, 4));
    value = larger(value, EXCHANGED(value, 2));
    value = larger(value, EXCHANGED(value, 1));
    return value[0];
}

/* The largest of a row of any width. */
static inline float largest_in_row(const float *row, long width) {
    const long whole = width / LANES * LANES;
    vector top[4], tail = all(-INFINITY);
    for (long n = whole; n < width; n++) tail[n - whole] = row[n];
    top[0] = top[1] = top[2] = top[3] = tail;
    long n = 0;
    for (; n + 4 * LANES <= whole; n += 4 * LANES)
        for (int part = 0; part < 4; part++) top[part] = larger(top[part], load(row + n + part * LANES));
    for (; n < whole; n += LANES) top[0] = larger(top[0], load(row + n));
    return largest_of(larger(larger(top[0], top[1]), larger(top[2], top[3])));
}

/* Whether any lane is above a bound. */
static inline int any_above(vector value, float bound) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)value, _mm512_set1_ps(bound), _CMP_GT_OQ) != 0;
#elif defined(__AVX__)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)value, _mm256_set1_ps(bound), _CMP_GT_OQ)) != 0;
#else
    return largest_of(value) > bound;
#endif
}

/* e^x to within a few units in the last place, for x up to 88; below -87 it stays at e^-87. */
static inline vector exponential(vector x) {
    x = larger(smaller(x, all(88.0f)), all(-87.0f));
    const vector magic = all(12582912.0f); /* 1.5 * 2^23: adding and taking it away rounds to an integer */
    vector whole = x * 1.44269504f + magic;
    integers power = (integers)whole << 23;
    whole -= magic;
    vector rest = x - whole * 0.693359375f;
    rest -= whole * -2.12194440e-4f;
    vector result = all(1.9875691500e-4f);
    result = result * rest + 1.3981999507e-3f;
    result = result * rest + 8.3334519073e-3f;
    result = result * rest + 4.1665795894e-2f;
    result = result * rest + 1.6666665459e-1f;
    result = result * rest + 5.0000001201e-1f;
    result = result * rest * rest + rest + 1.0f;
    return (vector)((integers)result + power);
}

#endif
