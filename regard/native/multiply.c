#include "multiply.h"
#include "pairs.h"
#include "tiles.h"
#include "turn.h"

#define PART 256    /* terms that are used for all rows and columns while they are near */
#define LINE 16     /* floats that come from memory together */
#define PACKED_ROWS (43 * ROWS_AT_ONCE) /* of PART terms each, they leave half of a cache of 512 KB to the rest */
#define BLOCKS_PACKED 8                 /* together, whose rows are three lines of a factor that lies turned */
#define APART 512   /* rows of a factor that lie as far apart as this share too few places of a cache */
#define NEAR 131072 /* floats of a factor that stay in the cache by themselves */

/* Panels of few columns are many: the next rows must be fetched in time, and the left factor pays for being packed. */
#define NARROW_PANELS (VECTORS == 2)

static void turn_square(const float *from, long distance, float *to, long to_distance) {
    vector rows[LANES];
    for (int n = 0; n < LANES; n++) rows[n] = load(from + n * distance);
    turn(rows);
    for (int n = 0; n < LANES; n++) store(to + n * to_distance, rows[n]);
}

void turn_part(long rows, long columns, const float *from, long distance, float *to, long to_distance) {
    for (long row = 0; row < rows; row += LANES)
        for (long column = 0; column < columns; column += LANES)
            turn_square(from + row * distance + column, distance, to + column * to_distance + row, to_distance);
}

void turn_matrix(long rows, long columns, const float *matrix, float *turned) {
    turn_part(rows, columns, matrix, columns, turned, rows);
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

static int is_tiled(int form) { return form == TILES || form == ROUNDED_TILES; }

long room_for_panels(long terms, long columns, int form) {
    if (is_tiled(form)) return room_for_tiles(terms, columns, form);
    return (form == PAIRS ? pairs_of(terms) : terms) * ((columns + PANEL - 1) / PANEL * PANEL);
}

Factor lay_out_panels(long terms, long columns, Factor right, float *panels) {
    if (is_tiled(right.form)) return lay_out_tiles(terms, columns, right, panels);
    if (right.form == PAIRS) return lay_out_pairs(terms, columns, right, panels);
    for (long column = 0; column < columns; column += PANEL) {
        const Factor part = {.at = right.at + column * right.column, .row = right.row, .column = right.column};
        lay_out(terms, columns - column < PANEL ? columns - column : PANEL, part, panels + column * terms);
    }
    return (Factor){.at = panels, .row = PANEL, .column = 1, .panel = terms * PANEL};
}

/* Rows of the next block. Four of them take as long as one, so that the last few are shared out. */
static int rows_of_block(long rows) {
    if (NARROW_PANELS && rows > ROWS_AT_ONCE && rows < ROWS_AT_ONCE + 4) return (rows + 1) / 2;
    return rows < ROWS_AT_ONCE ? rows : ROWS_AT_ONCE;
}

/* A chunk of rows of the left factor and a part of its terms, as blocks take it: where it lies, or packed. */
typedef struct {
    long rows, terms;
    Factor lies, taken;    /* taken.panel: from one block to the next; 0 where rows follow each other */
    float *space;          /* of the next block that is packed; null where none is */
    long packed;           /* rows */
} Left;

/* Blocks that lie turned, [terms, ROWS_AT_ONCE] each; what is stored beside them is overwritten by what comes next. */
static void pack_turned(long blocks, const Left *left) {
    const float *from = left->lies.at + left->packed;
    for (long term = 0; term < left->terms; term++)
        for (long n = 0; n < blocks; n++)
            store(left->space + n * left->taken.panel + term * ROWS_AT_ONCE,
                  load(from + term * left->lies.column + n * ROWS_AT_ONCE));
}

/* A block, or several where their rows are whole lines of what lies turned. */
static void pack_next(Left *left) {
    const long rest = left->rows - left->packed, many = BLOCKS_PACKED * ROWS_AT_ONCE;
    const Factor from = left->lies, to = left->taken;
    if (from.row == 1 && rest >= many + LANES) {
        pack_turned(BLOCKS_PACKED, left);
        left->space += BLOCKS_PACKED * to.panel, left->packed += many;
        return;
    }
    const int count = rows_of_block(rest);
    const float *at = from.at + left->packed * from.row;
    if (from.column == 1)
        for (int n = 0; n < count; n++) memcpy(left->space + n * to.row, at + n * from.row, left->terms * sizeof(float));
    else
        for (long term = 0; term < left->terms; term++)
            for (int n = 0; n < count; n++)
                left->space[term * to.column + n * to.row] = at[term * from.column + n * from.row];
    left->space += to.panel, left->packed += count;
}

/* Rows of a part of the terms that lie far apart share too few places of a cache, and so do terms that lie apart. */
static int is_packed(Factor left) {
    if (left.column == 1) return NARROW_PANELS && left.row > PART;
    return NARROW_PANELS || left.column >= APART;
}

static Left left_part(long rows, long terms, Factor left, float *space) {
    const Left as_it_lies = {.rows = rows, .terms = terms, .lies = left, .taken = left};
    if (!is_packed(left)) return as_it_lies;
    const long block = terms * ROWS_AT_ONCE + LINE;
    const Factor taken = left.column == 1 ? (Factor){space, terms, 1, block} : (Factor){space, 1, ROWS_AT_ONCE, block};
    return (Left){.rows = rows, .terms = terms, .lies = left, .taken = taken, .space = space};
}

/* What is fetched for the next panel while this one is used: some of its terms with each block of rows. */
typedef struct {
    const float *at;
    long row, terms, each;
} Ahead;

static void fetch_some(Ahead *ahead) {
    for (long n = 0; n < ahead->each && ahead->terms > 0; n++, ahead->terms--, ahead->at += ahead->row)
        for (int part = 0; part < PANEL; part += LINE) __builtin_prefetch(ahead->at + part, 0, 2);
}

static inline void fetch_to_write(long columns, const float *row) {
    for (long part = 0; part < columns; part += LINE) __builtin_prefetch(row + part, 1, 3);
}

/* All rows against one panel of `columns`. Lines of the result, and rows that were not packed, are fetched in time. */
static void multiply_panel(Left *left, RowBlock block, long columns, Ahead ahead) {
    for (long row = 0, count; row < left->rows; row += count) {
        count = rows_of_block(left->rows - row);
        if (left->space && row == left->packed) pack_next(left);
        const float *next = block.x + (left->taken.panel ? left->taken.panel : count * block.row_distance);
        fetch_some(&ahead);
        if (columns == PANEL)
            for (long n = 0; n < count; n++) fetch_to_write(PANEL, block.to + n * block.next);
        else
            for (long n = 0; n < count; n++) fetch_to_write(columns, block.to + n * block.next);
        if (NARROW_PANELS && block.step == 1) block.ahead = next, block.ahead_step = ROWS_AT_ONCE;
        multiply_columns(count, &block, columns);
        block.x = next;
        block.to += count * block.next;
    }
}

/* block: what is the same for all panels */
static void multiply_part(Left left, long columns, Factor right, int near, RowBlock block) {
    float laid_out[PART * PANEL] __attribute__((aligned(64)));
    const float *bias = block.bias;
    float *result = block.to;
    for (long column = 0; column < columns; column += PANEL) {
        const long wide = columns - column < PANEL ? columns - column : PANEL;
        const long apart = right.panel ? right.panel / PANEL : right.column;
        const Factor panel = {right.at + column * apart, right.row, right.column, 0};
        const int as_it_lies = right.panel || (near && wide == PANEL);
        if (!as_it_lies) lay_out(left.terms, wide, panel, laid_out);
        const int fetches = column + PANEL < columns && right.column == 1;
        const Ahead ahead = {panel.at + PANEL * apart, right.row, fetches ? left.terms : 0,
                             left.terms * ROWS_AT_ONCE / left.rows + 1};
        block.x = left.taken.at, block.row_distance = left.taken.row, block.step = left.taken.column;
        block.panel = as_it_lies ? panel.at : laid_out, block.panel_step = as_it_lies ? panel.row : PANEL;
        block.bias = bias ? bias + column : 0;
        block.to = result + column;
        block.ahead = block.panel;
        multiply_panel(&left, block, wide, ahead);
    }
}

void multiply_matrices(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    if (is_tiled(right.form)) {
        multiply_tiles(rows, columns, terms, left, right, ending, result, next);
        return;
    }
    if (right.form == PAIRS) {
        multiply_pairs(rows, columns, terms, left, right, ending, result, next);
        return;
    }
    static __thread float space[PACKED_ROWS * PART + PACKED_ROWS / ROWS_AT_ONCE * LINE + LANES] __attribute__((aligned(64)));
    const int near = !NARROW_PANELS && right.column == 1 && right.row < APART && terms * columns < NEAR;
    const long chunk = NARROW_PANELS || is_packed(left) ? PACKED_ROWS : rows;
    for (long first = 0; first < terms; first += PART) {
        const long some = terms - first < PART ? terms - first : PART;
        const Factor these = {right.at + first * right.row, right.row, right.column, right.panel};
        for (long row = 0; row < rows; row += chunk) {
            const Factor part = {left.at + row * left.row + first * left.column, left.row, left.column, 0};
            const RowBlock block = {
                .inputs = some,
                .begins = 1,
                .ends = first + some == terms,
                .adds = first > 0 || ending.keep, /* of many terms, sums of sums are the more exact ones */
                .bias = ending.bias,
                .positive = ending.positive,
                .to = result + row * next,
                .next = next,
            };
            multiply_part(left_part(rows - row < chunk ? rows - row : chunk, some, part, space), columns, these, near, block);
        }
    }
}

/* Whether these products are the faster ones: measured with AVX-512 and with AVX2. */
int multiplies_fast(void) {
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
    return 1;
#else
    return 0;
#endif
}
