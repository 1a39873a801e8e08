#include "lanes.h"
#include "pairs.h"
#include "turn.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

#define PART 512    /* terms that are used for all rows and columns while they are near */
#define ROWS (43 * ROWS_AT_ONCE) /* of so many terms each, they leave half of a cache of 512 KB to the rest */
#define PART_PAIRS (PART / 2)
#define LINE 16     /* numbers that come from memory together */
#define ROW_ROOM (PART_PAIRS + LINE) /* no power of two: such rows share a few places of the nearest cache */
#define PAIR_ROOM (ROWS + LINE - ROWS % LINE)

int takes_pairs(void) { return 1; }

/* A row of terms: neighbours become pairs. */
static inline vector pairs_of_row(const float *terms, long count) {
    const __m512 first = load_some(terms, count), second = load_some(terms + LANES, count - LANES);
    return (vector)_mm512_cvtne2ps_pbh(second, first);
}

/* to [pairs of terms, columns], of terms that are rows; rows of `to` are filled up to a multiple of LANES. */
static void pair_rows(long terms, long columns, const float *from, long distance, float *to, long to_distance) {
    for (long term = 0; term < terms; term += 2, from += 2 * distance, to += to_distance)
        for (long n = 0; n < columns; n += LANES) {
            const __m512 lower = term + 1 < terms ? load_some(from + distance + n, columns - n) : _mm512_setzero_ps();
            store(to + n, pairs_of_rows(load_some(from + n, columns - n), lower));
        }
}

/* to [rows, pairs of terms], of terms that follow each other; a row of `to` has room for a multiple of LANES. */
static void pair_terms(long rows, long terms, const float *from, long distance, float *to, long to_distance) {
    for (long row = 0; row < rows; row++, from += distance, to += to_distance)
        for (long term = 0; term < terms; term += 2 * LANES) store(to + term / 2, pairs_of_row(from + term, terms - term));
}

/* to [pairs of terms, columns], where the terms of a column follow each other; up to a multiple of LANES columns. */
static void pair_turned(long terms, long columns, const float *from, long distance, float *to, long to_distance) {
    for (long n = 0; n < columns; n += LANES)
        for (long term = 0; term < terms; term += 2 * LANES) {
            vector rows[LANES];
            for (int lane = 0; lane < LANES; lane++)
                rows[lane] = n + lane < columns ? pairs_of_row(from + (n + lane) * distance + term, terms - term) : all(0);
            turn(rows);
            for (int pair = 0; pair < LANES && term + 2 * pair < terms; pair++)
                store(to + (term / 2 + pair) * to_distance + n, rows[pair]);
        }
}

/* Of a factor that lies in any other way. */
static void pair_each(long terms, long columns, Factor from, float *to, long to_distance) {
    for (long term = 0; term < terms; term += 2)
        for (long n = 0; n < columns; n++) {
            const float *upper = from.at + term * from.row + n * from.column;
            const float lower = term + 1 < terms ? upper[from.row] : 0;
            to[term / 2 * to_distance + n] = pairs_of_rows(_mm512_set1_ps(*upper), _mm512_set1_ps(lower))[0];
        }
}

/* to [pairs of terms, columns] */
static void lay_out(long terms, long columns, Factor from, float *to, long to_distance) {
    if (from.column == 1)
        pair_rows(terms, columns, from.at, from.row, to, to_distance);
    else if (from.row == 1)
        pair_turned(terms, columns, from.at, from.column, to, to_distance);
    else
        pair_each(terms, columns, from, to, to_distance);
}

static void lay_out_panel(long terms, long columns, Factor from, float *panel) {
    if (columns < PANEL) memset(panel, 0, pairs_of(terms) * PANEL * sizeof(float));
    lay_out(terms, columns, from, panel, PANEL);
}

Factor lay_out_pairs(long terms, long columns, Factor right, float *panels) {
    for (long column = 0; column < columns; column += PANEL) {
        const Factor part = {.at = right.at + column * right.column, .row = right.row, .column = right.column};
        lay_out_panel(terms, columns - column < PANEL ? columns - column : PANEL, part, panels + column * pairs_of(terms));
    }
    return (Factor){.at = panels, .row = PANEL, .column = 1, .panel = pairs_of(terms) * PANEL, .form = PAIRS};
}

/* Some rows of the left factor in pairs, in `space`; of what they are gives how they lie. */
static Factor pack(long rows, long terms, Factor left, float *space) {
    if (left.column == 1) {
        pair_terms(rows, terms, left.at, left.row, space, ROW_ROOM);
        return (Factor){.at = space, .row = ROW_ROOM, .column = 1};
    }
    const Factor turned = {.at = left.at, .row = left.column, .column = left.row};
    lay_out(terms, rows, turned, space, PAIR_ROOM);
    return (Factor){.at = space, .row = 1, .column = PAIR_ROOM};
}

/* All rows against one panel. Lines of the result are fetched in time, and so is the next panel, a part with each block. */
static void multiply_panel(long rows, Factor left, RowBlock block, long columns, const float *next_panel) {
    const long lines = block.inputs * (PANEL / LINE);
    long fetched = next_panel ? 0 : lines;
    for (long row = 0; row < rows; row += ROWS_AT_ONCE) {
        const int count = rows - row < ROWS_AT_ONCE ? rows - row : ROWS_AT_ONCE;
        block.x = left.at + row * left.row;
        block.ahead = fetched < lines ? next_panel + fetched * LINE : block.panel;
        block.ahead_step = fetched < lines ? LINE : 0;
        fetched += block.inputs;
        for (long n = 0; n < count; n++)
            for (long part = 0; part < columns; part += LINE) __builtin_prefetch(block.to + n * block.next + part, 1, 3);
        multiply_columns(count, &block, columns);
        block.to += count * block.next;
    }
}

void multiply_pairs(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    static __thread float space[ROWS * ROW_ROOM > PART_PAIRS * PAIR_ROOM ? ROWS * ROW_ROOM : PART_PAIRS * PAIR_ROOM]
        __attribute__((aligned(64)));
    float laid_out[PART_PAIRS * PANEL] __attribute__((aligned(64)));
    for (long first = 0; first < terms; first += PART) {
        const long some = terms - first < PART ? terms - first : PART;
        for (long row = 0; row < rows; row += ROWS) {
            const long count = rows - row < ROWS ? rows - row : ROWS;
            const Factor lies = {
                .at = left.at + row * left.row + first * left.column, .row = left.row, .column = left.column};
            const Factor packed = pack(count, some, lies, space);
            for (long column = 0; column < columns; column += PANEL) {
                const long wide = columns - column < PANEL ? columns - column : PANEL;
                const float *panel = right.at + column / PANEL * right.panel + pairs_of(first) * PANEL;
                const float *next_panel = right.panel && column + PANEL < columns ? panel + right.panel : 0;
                if (!right.panel) {
                    const Factor part = {.at = right.at + first * right.row + column * right.column,
                                         .row = right.row, .column = right.column};
                    lay_out_panel(some, wide, part, laid_out);
                    panel = laid_out;
                }
                const RowBlock block = {
                    .inputs = pairs_of(some),
                    .row_distance = packed.row,
                    .step = packed.column,
                    .begins = 1,
                    .ends = first + some == terms,
                    .adds = first > 0 || ending.keep,
                    .pairs = 1,
                    .panel = panel,
                    .panel_step = PANEL,
                    .bias = ending.bias ? ending.bias + column : 0,
                    .positive = ending.positive,
                    .to = result + row * next + column,
                    .next = next,
                };
                multiply_panel(count, packed, block, wide, next_panel);
            }
        }
    }
}

#else

int takes_pairs(void) { return 0; }

Factor lay_out_pairs(long terms, long columns, Factor right, float *panels) {
    (void)terms, (void)columns, (void)panels;
    return right;
}

void multiply_pairs(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    (void)rows, (void)columns, (void)terms, (void)left, (void)right, (void)ending, (void)result, (void)next;
}

#endif
