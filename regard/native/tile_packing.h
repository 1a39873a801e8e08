/* Factors as tiles want them: in blocks of 32 lines (rows of a left factor, columns of a right one) by 32 terms, each of two
 * tiles for every plane that a number is taken apart into. */

#ifndef REGARD_TILE_PACKING_H
#define REGARD_TILE_PACKING_H

#include "multiply.h"

#define SIDE 16            /* rows of a tile, and numbers of 32 bits in each of its rows */
#define TERMS 32           /* of a tile, two in each such number: a term and the one 16 further on */
#define BLOCK (2 * SIDE)   /* lines of a block */
#define TILE (SIDE * SIDE) /* numbers of 32 bits */
#define PLANES 3           /* at the most: high, middle, low; rounded factors have one */

static inline long steps_of(long terms) { return (terms + TERMS - 1) / TERMS; }

/* Both tiles of a block, for one step of terms: [planes, 2, TILE] */
static inline long step_room(int planes) { return planes * 2 * TILE; }

/* to [blocks, steps, planes, 2, TILE], blocks `block_room` apart. `from` says by `row` how far lines are apart, and by `column`
 * terms. Terms that fill up the last step are zero; lines that fill up the last block may be anything. */
void pack_tiles(int planes, int left, long lines, long terms, Factor from, float *to, long block_room);

#endif
