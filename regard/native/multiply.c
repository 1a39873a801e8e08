#include "multiply.h"

#define PART 256    /* terms that are used for all rows and columns while they are near */
#define APART 512   /* rows of a factor that lie as far apart as this share too few places of a cache */
#define NEAR 131072 /* floats of a factor that stay in the cache by themselves */

/* Columns of LANES rows become rows, in registers: quarters of ever smaller squares change places. */
#define TURN(distance)                                                                             \
    for (int n = 0; n < LANES; n++)                                                                \
        if (!(n & distance)) {                                                                     \
            const vector upper = rows[n], lower = rows[n + distance];                              \
            const integers those = {EACH_LANE(HAS_##distance)};                                    \
            rows[n] = pick(those, EXCHANGED(lower, distance), upper);                              \
            rows[n + distance] = pick(those, lower, EXCHANGED(upper, distance));                   \
        }
#define HAS_1(lane) -!!((lane) & 1)
#define HAS_2(lane) -!!((lane) & 2)
#define HAS_4(lane) -!!((lane) & 4)
#define HAS_8(lane) -!!((lane) & 8)

static void turn_square(const float *from, long distance, float *to, long to_distance) {
    vector rows[LANES];
    for (int n = 0; n < LANES; n++) rows[n] = load(from + n * distance);
#if LANES > 8
    TURN(8)
#endif
    TURN(4)
    TURN(2)
    TURN(1)
    for (int n = 0; n < LANES; n++) store(to + n * to_distance, rows[n]);
}

void turn_matrix(long rows, long columns, const float *matrix, float *turned) {
    for (long row = 0; row < rows; row += LANES)
        for (long column = 0; column < columns; column += LANES)
            turn_square(matrix + row * columns + column, columns, turned + column * rows + row, rows);
}

/* panel [terms, PANEL]: a part of a factor's columns, with zeros after the last. */
static void lay_out(long terms, long columns, Factor from, float *panel) {
    if (columns == PANEL && from.column == 1) {
        for (long term = 0; term < terms; term++)
            for (int n = 0; n < PANEL; n += LANES) store(panel + term * PANEL + n, load(from.at + term * from.row + n));
        return;
    }
    const long whole = from.row == 1 ? terms / LANES * LANES : 0, square_columns = columns / LANES * LANES;
    for (long term = 0; term < whole; term += LANES)
        for (long n = 0; n < square_columns; n += LANES)
            turn_square(from.at + term + n * from.column, from.column, panel + term * PANEL + n, PANEL);
    for (long term = 0; term < terms; term++)
        for (long n = term < whole ? square_columns : 0; n < PANEL; n++)
            panel[term * PANEL + n] = n < columns ? from.at[term * from.row + n * from.column] : 0;
}

void lay_out_panels(long terms, long columns, Factor right, float *panels) {
    for (long column = 0; column < columns; column += PANEL, panels += terms * PANEL) {
        const Factor part = {right.at + column * right.column, right.row, right.column, 0};
        lay_out(terms, columns - column < PANEL ? columns - column : PANEL, part, panels);
    }
}

/* Blocks of rows against a panel whose last columns are not there: by way of a whole one. */
static void multiply_narrow(int count, RowBlock block, long columns) {
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

void multiply_matrices(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    float panel[PART * PANEL] __attribute__((aligned(64)));
    const int near = right.column == 1 && right.row < APART && terms * columns < NEAR;
    for (long first = 0; first < terms; first += PART) {
        const long some = terms - first < PART ? terms - first : PART;
        for (long column = 0; column < columns; column += PANEL) {
            const long wide = columns - column < PANEL ? columns - column : PANEL;
            const long apart = right.panel ? right.panel / PANEL : right.column;
            const Factor part = {right.at + first * right.row + column * apart, right.row, right.column, 0};
            const int as_it_lies = right.panel || (near && wide == PANEL);
            if (!as_it_lies) lay_out(some, wide, part, panel);
            for (long row = 0; row < rows; row += ROWS_AT_ONCE) {
                const int count = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
                const RowBlock block = {
                    .inputs = some,
                    .row_distance = left.row,
                    .step = left.column,
                    .begins = 1,
                    .ends = first + some == terms,
                    .adds = first > 0 || ending.keep, /* of many terms, sums of sums are the more exact ones */
                    .x = left.at + row * left.row + first * left.column,
                    .panel = as_it_lies ? part.at : panel,
                    .panel_step = as_it_lies ? part.row : PANEL,
                    .bias = ending.bias ? ending.bias + column : 0,
                    .positive = ending.positive,
                    .to = result + row * next + column,
                    .next = next,
                    .ahead = panel,
                };
                if (wide == PANEL)
                    multiply_rows(count, &block);
                else
                    multiply_narrow(count, block, wide);
            }
        }
    }
}

/* Whether these products are the faster ones: they want the 32 registers of 16 floats that AVX-512 has. */
int multiplies_fast(void) {
#if defined(__AVX512F__)
    return 1;
#else
    return 0;
#endif
}
