#include "products.h"

#define INLINE static inline __attribute__((always_inline))
#define PART 128            /* inputs of a panel of floats that stay in the nearest cache */
#define LINE 16             /* floats that come from memory together */
#define CACHED_FLOATS 65536 /* as much of x as stays in the cache beside a panel */

/* The blocks below are written for up to six rows, with VECTORS sums each that must stay in registers: named variables,
 * and conditions on `count` that are known when it is compiled. */
#define EACH_ROW(DO) DO(0, a) DO(1, b) DO(2, c) DO(3, d) DO(4, e) DO(5, f)
#define VALUES(type, name, value) type name##0 = value, name##1 = value, name##2 = value, name##3 = value;

/* Adds products of two bfloat16 each, of which a number is made; the compiler's own function makes it copy every sum. */
#if defined(__AVX512BF16__)
#define ADD_PAIRS(sum, factor, weight) __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(weight))
#else
#define ADD_PAIRS(sum, factor, weight) (void)0
#endif

INLINE void float_block(const int count, const int pairs, const RowBlock *block) {
    const long inputs = block->inputs, distance = block->row_distance, step = block->step, next = block->next;
    const long panel_step = block->panel_step;
    const float *panel = block->panel, *x = block->x;
    float *to = block->to;
#define DECLARE(row, name) VALUES(vector, name, all(0))
#define PART_OF_ROW(row, part) (to + (row) * next + (part) * LANES)
#define INCREASE(row, name)                                                                              \
    if (count > row) {                                                                                   \
        name##0 += load(PART_OF_ROW(row, 0)), name##1 += load(PART_OF_ROW(row, 1));                      \
        if (VECTORS > 2) name##2 += load(PART_OF_ROW(row, 2)), name##3 += load(PART_OF_ROW(row, 3));     \
    }
#define CONTINUE(row, name)                                                                              \
    if (count > row) {                                                                                   \
        name##0 = load(PART_OF_ROW(row, 0)), name##1 = load(PART_OF_ROW(row, 1));                        \
        if (VECTORS > 2) name##2 = load(PART_OF_ROW(row, 2)), name##3 = load(PART_OF_ROW(row, 3));       \
    }
#define ADD(row, name)                                                                                   \
    if (count > row) {                                                                                   \
        const vector factor = all(x[row * distance]);                                                    \
        if (pairs) {                                                                                     \
            ADD_PAIRS(name##0, factor, weight0);                                                         \
            ADD_PAIRS(name##1, factor, weight1);                                                         \
            ADD_PAIRS(name##2, factor, weight2);                                                         \
            ADD_PAIRS(name##3, factor, weight3);                                                         \
        } else {                                                                                         \
            name##0 += factor * weight0, name##1 += factor * weight1;                                    \
            if (VECTORS > 2) name##2 += factor * weight2, name##3 += factor * weight3;                   \
        }                                                                                                \
    }
#define JOIN(row, name)                                                                                  \
    if (count > row) {                                                                                   \
        name##0 += bias0, name##1 += bias1;                                                              \
        if (VECTORS > 2) name##2 += bias2, name##3 += bias3;                                             \
    }
#define CUT(row, name)                                                                                   \
    if (count > row) {                                                                                   \
        name##0 = larger(name##0, all(0)), name##1 = larger(name##1, all(0));                            \
        if (VECTORS > 2) name##2 = larger(name##2, all(0)), name##3 = larger(name##3, all(0));           \
    }
#define PUT(row, name)                                                                                   \
    if (count > row) {                                                                                   \
        store(PART_OF_ROW(row, 0), name##0), store(PART_OF_ROW(row, 1), name##1);                        \
        if (VECTORS > 2) store(PART_OF_ROW(row, 2), name##2), store(PART_OF_ROW(row, 3), name##3);       \
    }
    EACH_ROW(DECLARE)
    if (!block->begins) {
        EACH_ROW(CONTINUE)
    }
    const float *ahead = block->ahead;
    const long ahead_step = block->ahead_step;
#pragma GCC unroll 4 /* counting and comparing would take time from the sums */
    for (long n = 0; n < inputs; n++, x += step, panel += panel_step, ahead += ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        const vector weight0 = load(panel), weight1 = load(panel + LANES);
        const vector weight2 = VECTORS > 2 ? load(panel + 2 * LANES) : weight0;
        const vector weight3 = VECTORS > 2 ? load(panel + 3 * LANES) : weight1;
        EACH_ROW(ADD)
    }
    if (block->adds) {
        EACH_ROW(INCREASE)
    }
    if (block->ends && block->bias) {
        const vector bias0 = load(block->bias), bias1 = load(block->bias + LANES);
        const vector bias2 = VECTORS > 2 ? load(block->bias + 2 * LANES) : bias0;
        const vector bias3 = VECTORS > 2 ? load(block->bias + 3 * LANES) : bias1;
        EACH_ROW(JOIN)
    }
    if (block->ends && block->positive) {
        EACH_ROW(CUT)
    }
    EACH_ROW(PUT)
#undef DECLARE
#undef CONTINUE
#undef ADD
#undef INCREASE
#undef JOIN
#undef CUT
#undef PUT
#undef PART_OF_ROW
}

int panel_width(void) { return PANEL; }

#if defined(__AVX512VNNI__)

/* Adds products of four bytes each; the compiler's own function makes it copy every sum. */
#define ADD_PRODUCTS(sum, factor, weight) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(weight))

INLINE void put(vector value, int part, const RowBlock *block, int row) {
    if (block->adds) value += load(block->to + row * block->next + part * LANES);
    if (block->ends && block->bias) value += load(block->bias + part * LANES);
    store(block->to + row * block->next + part * LANES, block->ends && block->positive ? larger(value, all(0)) : value);
}

INLINE void put_bytes(__m512i sum, int part, const RowBlock *block, int row) {
    const __m512i whole = _mm512_sub_epi32(sum, _mm512_loadu_si512(block->sums + part * LANES));
    put((vector)_mm512_cvtepi32_ps(whole) * (load(block->scales + part * LANES) * block->x_scales[row]), part, block, row);
}

INLINE void byte_block(const int count, const RowBlock *block) {
    const long inputs = block->inputs, distance = block->row_distance;
    const int8_t *panel = block->bytes;
    const uint8_t *x = block->x_bytes;
#define DECLARE(row, name) VALUES(__m512i, name, _mm512_setzero_si512())
#define ADD(row, name)                                     \
    if (count > row) {                                     \
        int32_t four;                                      \
        memcpy(&four, x + row * distance, 4);               \
        const __m512i factor = _mm512_set1_epi32(four);    \
        ADD_PRODUCTS(name##0, factor, weight0);            \
        ADD_PRODUCTS(name##1, factor, weight1);            \
        ADD_PRODUCTS(name##2, factor, weight2);            \
        ADD_PRODUCTS(name##3, factor, weight3);            \
    }
#define PUT(row, name)                                                                  \
    if (count > row) {                                                                  \
        put_bytes(name##0, 0, block, row), put_bytes(name##1, 1, block, row);           \
        put_bytes(name##2, 2, block, row), put_bytes(name##3, 3, block, row);           \
    }
    EACH_ROW(DECLARE)
    for (long n = 0; n < inputs; n += 4, x += 4, panel += 4 * PANEL) {
        const __m512i weight0 = _mm512_loadu_si512(panel), weight1 = _mm512_loadu_si512(panel + 4 * LANES);
        const __m512i weight2 = _mm512_loadu_si512(panel + 8 * LANES), weight3 = _mm512_loadu_si512(panel + 12 * LANES);
        EACH_ROW(ADD)
    }
    EACH_ROW(PUT)
}

int takes_bytes(void) { return 1; }

#else

INLINE void byte_block(const int count, const RowBlock *block) { (void)count, (void)block; }

int takes_bytes(void) { return 0; }

#endif

#define BLOCKS(count)                                                                                          \
    static __attribute__((noinline)) void floats_##count(const RowBlock *block) { float_block(count, 0, block); } \
    static __attribute__((noinline)) void pairs_##count(const RowBlock *block) { float_block(count, 1, block); }  \
    static __attribute__((noinline)) void bytes_##count(const RowBlock *block) { byte_block(count, block); }
BLOCKS(1) BLOCKS(2) BLOCKS(3) BLOCKS(4) BLOCKS(5) BLOCKS(6)

static void (*const blocks[3][ROWS_AT_ONCE])(const RowBlock *) = {
    {floats_1, floats_2, floats_3, floats_4, floats_5, floats_6},
    {bytes_1, bytes_2, bytes_3, bytes_4, bytes_5, bytes_6},
    {pairs_1, pairs_2, pairs_3, pairs_4, pairs_5, pairs_6}};

void multiply_rows(int count, const RowBlock *block) { blocks[block->pairs ? 2 : 0][count - 1](block); }

/* By way of a whole panel. */
static void multiply_few_columns(int count, RowBlock block, long columns) {
    float whole[ROWS_AT_ONCE * PANEL], bias[PANEL];
    float *to = block.to;
    const long next = block.next;
    for (int row = 0; row < count && block.adds; row++)
        memcpy(whole + row * PANEL, to + row * next, columns * sizeof(float));
    if (block.bias) memcpy(bias, block.bias, columns * sizeof(float)), block.bias = bias;
    block.to = whole, block.next = PANEL;
    multiply_rows(count, &block);
    for (int row = 0; row < count; row++) memcpy(to + row * next, whole + row * PANEL, columns * sizeof(float));
}

void multiply_columns(int count, const RowBlock *block, long columns) {
    if (columns == PANEL)
        multiply_rows(count, block);
    else
        multiply_few_columns(count, *block, columns);
}

/* Rows from `row` on, against the inputs from `first` to `end` of one panel. */
static void multiply_block(
    int count, const Matrix *matrix, long panel, long row, long first, long end, const float *x, Quantised space,
    int positive, float *to, long next, const float *ahead) {
    const long inputs = matrix->inputs, at = panel * PANEL;
    const int in_bytes = matrix->bytes != 0;
    const RowBlock block = {
        .inputs = end - first,
        .row_distance = inputs,
        .step = 1,
        .begins = first == 0,
        .ends = end == inputs,
        .x = x + row * inputs + first,
        .panel = in_bytes ? 0 : matrix->panels + at * inputs + first * PANEL,
        .panel_step = PANEL,
        .x_bytes = in_bytes ? space.bytes + row * inputs : 0,
        .bytes = in_bytes ? matrix->bytes + at * inputs : 0,
        .x_scales = in_bytes ? space.scales + row : 0,
        .scales = in_bytes ? matrix->scales + at : 0,
        .bias = matrix->bias ? matrix->bias + at : 0,
        .sums = in_bytes ? matrix->sums + at : 0,
        .positive = positive,
        .to = to,
        .next = next,
        .ahead = ahead ? ahead : x,
        .ahead_step = ahead ? LINE : 0,
    };
    blocks[in_bytes][count - 1](&block);
}

/* The part of the panel's next inputs, or of the next panel, that the n-th block of rows is to fetch; null for none. */
static const float *fetched_with(const Matrix *matrix, long panel, long first, long end, long n) {
    const long lines = (end - first) * (PANEL / LINE), each = end - first;
    if (matrix->bytes || n * each >= lines) return 0;
    const float *next = matrix->panels + panel * PANEL * matrix->inputs + end * PANEL + n * each * LINE;
    return next + each * LINE <= matrix->panels + panels_of(matrix) * PANEL * matrix->inputs ? next : 0;
}

void multiply_panels(
    const Matrix *matrix, long first_panel, long end_panel, long rows, const float *x, Quantised space, int positive,
    float *result, long next) {
    const long inputs = matrix->inputs, part = matrix->bytes || rows <= ROWS_AT_ONCE ? inputs : PART;
    long chunk = CACHED_FLOATS / inputs / ROWS_AT_ONCE * ROWS_AT_ONCE;
    if (chunk < ROWS_AT_ONCE) chunk = ROWS_AT_ONCE;
    for (long first_row = 0; first_row < rows; first_row += chunk) {
        const long end_row = first_row + chunk < rows ? first_row + chunk : rows;
        for (long panel = first_panel; panel < end_panel; panel++) {
            const long left = matrix->outputs - panel * PANEL;
            for (long first = 0; first < inputs; first += left < PANEL ? inputs : part) {
                const long end = left < PANEL || first + part > inputs ? inputs : first + part;
                for (long row = first_row; row < end_row; row += ROWS_AT_ONCE) {
                    const int count = end_row - row < ROWS_AT_ONCE ? end_row - row : ROWS_AT_ONCE;
                    float *to = result + row * next + (panel - first_panel) * PANEL;
                    if (left >= PANEL) {
                        const float *ahead = fetched_with(matrix, panel, first, end, (row - first_row) / ROWS_AT_ONCE);
                        multiply_block(count, matrix, panel, row, first, end, x, space, positive, to, next, ahead);
                        continue;
                    }
                    float whole[ROWS_AT_ONCE * PANEL]; /* of a last panel with fewer outputs */
                    multiply_block(count, matrix, panel, row, 0, inputs, x, space, positive, whole, PANEL, 0);
                    for (int n = 0; n < count; n++) memcpy(to + n * next, whole + n * PANEL, left * sizeof(float));
                }
            }
        }
    }
}

/* Each row in bytes of its own scale: the largest becomes 127, and 128 is added to all. */
void quantise_rows(long rows, long width, const float *x, Quantised into) {
    for (long row = 0; row < rows; row++) {
        const float *from = x + row * width;
        vector most = all(0), unlike_numbers = all(0);
        for (long n = 0; n < width; n += LANES) {
            most = larger(most, larger(load(from + n), -load(from + n)));
            unlike_numbers += load(from + n) * 0;
        }
        const float largest = largest_of(most), factor = largest > 0 ? 127 / largest : 0;
        into.scales[row] = largest / 127 + sum_of(unlike_numbers); /* what is not a number stays so */
        uint8_t *to = into.bytes + row * width;
        for (long n = 0; n < width; n += LANES) {
            /* 1.5 * 2^23 added: the sum's last bits are the rounded integer */
            const integers rounded = (integers)(load(from + n) * factor + (12582912.0f + 128));
#if defined(__AVX512F__)
            _mm_storeu_si128((__m128i *)(to + n), _mm512_cvtepi32_epi8((__m512i)rounded));
#else
            for (int lane = 0; lane < LANES; lane++) to[n + lane] = (uint8_t)rounded[lane];
#endif
        }
    }
}
