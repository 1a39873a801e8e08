/* Squares of numbers turned in registers: their columns become rows. */

#ifndef REGARD_TURN_H
#define REGARD_TURN_H

#include "vectors.h"

/* Quarters of ever smaller squares change places. */
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

static inline __attribute__((always_inline)) void turn(vector rows[LANES]) {
#if LANES > 8
    TURN(8)
#endif
    TURN(4)
    TURN(2)
    TURN(1)
}

#endif
