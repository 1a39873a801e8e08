#include "tile_packing.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

#include "lanes.h"

#define COPIED 256 /* terms of a factor that lies in no usual way, at a time */

/* The planes of floats, in the upper halves of numbers; the lower halves of the first two are zero. */
typedef struct {
    __m512i plane[PLANES];
} Apart;

static inline __attribute__((always_inline)) Apart take_apart(__m512 x) {
    const __m512i bits = (__m512i)x, upper = _mm512_set1_epi32(0xffff0000);
    const __m512i high = _mm512_and_si512(_mm512_add_epi32(bits, _mm512_set1_epi32(0x8000)), upper);
    const __m512 rest = _mm512_sub_ps(x, (__m512)high); /* of what is not a number, no number either */
    const __m512i middle = _mm512_and_si512((__m512i)rest, upper);
    return (Apart){{high, middle, (__m512i)_mm512_sub_ps(rest, (__m512)middle)}};
}

/* Sixteen pairs of terms of one line, or a pair of sixteen lines, in every plane of a row of a tile. */
static inline __attribute__((always_inline)) void put_row(const int planes, __m512 first, __m512 second, float *row) {
    if (planes == 1) {
        store(row, pairs_of_rows(first, second));
        return;
    }
    const Apart low = take_apart(first), high = take_apart(second);
    for (int n = 0; n < planes; n++)
        _mm512_storeu_si512(row + n * 2 * TILE, _mm512_mask_mov_epi16(_mm512_srli_epi32(low.plane[n], 16), 0xaaaaaaaa,
                                                                       high.plane[n]));
}

/* A tile's rows become its columns. */
static inline __attribute__((always_inline)) void turn_tile(float *tile) {
    __m512i a[SIDE], b[SIDE];
    for (int n = 0; n < SIDE; n++) a[n] = _mm512_loadu_si512(tile + n * SIDE);
    for (int n = 0; n < SIDE; n += 2) b[n] = _mm512_unpacklo_epi32(a[n], a[n + 1]), b[n + 1] = _mm512_unpackhi_epi32(a[n], a[n + 1]);
    for (int n = 0; n < SIDE; n += 4)
        for (int m = 0; m < 2; m++) {
            a[n + 2 * m] = _mm512_unpacklo_epi64(b[n + m], b[n + m + 2]);
            a[n + 2 * m + 1] = _mm512_unpackhi_epi64(b[n + m], b[n + m + 2]);
        }
    for (int n = 0; n < 4; n++)
        for (int m = 0; m < SIDE; m += 8) {
            b[n + m] = _mm512_shuffle_i32x4(a[n + m], a[n + m + 4], 0x88);
            b[n + m + 4] = _mm512_shuffle_i32x4(a[n + m], a[n + m + 4], 0xdd);
        }
    for (int n = 0; n < 4; n++) {
        a[n] = _mm512_shuffle_i32x4(b[n], b[n + 8], 0x88), a[n + 8] = _mm512_shuffle_i32x4(b[n], b[n + 8], 0xdd);
        a[n + 4] = _mm512_shuffle_i32x4(b[n + 4], b[n + 12], 0x88), a[n + 12] = _mm512_shuffle_i32x4(b[n + 4], b[n + 12], 0xdd);
    }
    for (int n = 0; n < SIDE; n++) _mm512_storeu_si512(tile + n * SIDE, a[n]);
}

/* One tile of every plane: of up to 16 lines (rows of a left factor, columns of a right one) and 32 terms. A left factor wants
 * a line's terms together, a right one a term's lines; where they lie the other way the tile is turned. */
static inline __attribute__((always_inline)) void pack_tile(
    const int planes, const int together, const int wanted_together, long lines, long terms, const float *from, long distance,
    float *tile) {
    const int whole = lines >= SIDE && terms >= TERMS;
    for (long n = 0; n < SIDE; n++) {
        const float *first = from + n * distance, *second = first + (together ? SIDE : SIDE * distance);
        if (whole) {
            put_row(planes, _mm512_loadu_ps(first), _mm512_loadu_ps(second), tile + n * SIDE);
        } else if (together) {
            const long there = n < lines ? terms : 0;
            put_row(planes, load_some(first, there), load_some(second, there - SIDE), tile + n * SIDE);
        } else {
            put_row(planes, load_some(first, n < terms ? lines : 0), load_some(second, n + SIDE < terms ? lines : 0),
                    tile + n * SIDE);
        }
    }
    if (together == wanted_together) return;
    for (int plane = 0; plane < planes; plane++) turn_tile(tile + plane * 2 * TILE);
}

/* Blocks of lines, [blocks of 32 lines, steps, planes, 2, TILE]. `from` says by `row` how far lines are apart, and by `column`
 * terms; one of the two is 1. */
static inline __attribute__((always_inline)) void pack_lines(
    const int planes, const int together, const int wanted_together, long lines, long terms, Factor from, float *to,
    long block_room) {
    for (long line = 0; line < lines; line += SIDE)
        for (long term = 0; term < terms; term += TERMS) {
            float *tile = to + line / BLOCK * block_room + term / TERMS * step_room(planes) + line % BLOCK / SIDE * TILE;
            pack_tile(planes, together, wanted_together, lines - line < SIDE ? lines - line : SIDE,
                      terms - term < TERMS ? terms - term : TERMS, from.at + line * from.row + term * from.column,
                      together ? from.row : from.column, tile);
        }
}

/* The same of a factor that lies in any way. */
static void pack_any(int planes, int left, long lines, long terms, Factor from, float *to, long block_room) {
    float copy[BLOCK * COPIED];
    for (long line = 0; line < lines; line += BLOCK)
        for (long term = 0; term < terms; term += COPIED) {
            const long some = lines - line < BLOCK ? lines - line : BLOCK, few = terms - term < COPIED ? terms - term : COPIED;
            for (long n = 0; n < some; n++)
                for (long m = 0; m < few; m++) copy[n * COPIED + m] = from.at[(line + n) * from.row + (term + m) * from.column];
            float *at = to + line / BLOCK * block_room + term / TERMS * step_room(planes);
            pack_lines(planes, 1, left, some, few, (Factor){.at = copy, .row = COPIED, .column = 1}, at, block_room);
        }
}

void pack_tiles(int planes, int left, long lines, long terms, Factor from, float *to, long block_room) {
#define PACK(together, wanted)                                                         \
    if (planes == 1)                                                                   \
        pack_lines(1, together, wanted, lines, terms, from, to, block_room);           \
    else                                                                               \
        pack_lines(PLANES, together, wanted, lines, terms, from, to, block_room)
    if (from.column == 1) {
        if (left) {
            PACK(1, 1);
        } else {
            PACK(1, 0);
        }
    } else if (from.row == 1) {
        if (left) {
            PACK(0, 1);
        } else {
            PACK(0, 0);
        }
    } else {
        pack_any(planes, left, lines, terms, from, to, block_room);
    }
#undef PACK
}

#endif
