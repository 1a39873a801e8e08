/* A few lanes of a vector, and pairs of bfloat16 made of floats: for processors with AVX-512 and bfloat16. */

#ifndef REGARD_LANES_H
#define REGARD_LANES_H

#include "vectors.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

static inline __mmask16 first_lanes(long count) { return count >= LANES ? 0xffff : count > 0 ? (1u << count) - 1 : 0; }

static inline __m512 load_some(const float *from, long count) { return _mm512_maskz_loadu_ps(first_lanes(count), from); }

/* Two rows: what stands in one place becomes a pair. */
static inline vector pairs_of_rows(__m512 upper, __m512 lower) {
#define OF_BOTH(lane) (short)(lane), (short)((lane) + LANES)
    static const short order[2 * LANES] __attribute__((aligned(64))) = {EACH_LANE(OF_BOTH)};
#undef OF_BOTH
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(lower, upper);
    return (vector)_mm512_permutexvar_epi16(_mm512_load_si512(order), both);
}

#endif

#endif
