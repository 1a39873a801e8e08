#define _GNU_SOURCE
#include "tiles.h"
#include "tile_packing.h"

#if !defined(WITHOUT_TILES) && defined(__linux__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lanes.h"

#define PART 256                /* terms that are used for all rows and columns while they are near */
#define CHUNK 256               /* rows that are packed at a time */
#define SHARED 512              /* columns of a right factor that is packed once for all chunks, at the most */
#define ROW_BYTES (SIDE * sizeof(float)) /* of a tile */
#define ASK_FOR_PERMISSION 0x1023 /* arch_prctl's ARCH_REQ_XCOMP_PERM, */
#define OF_TILE_DATA 18           /* and the component of a processor's state that is asked for */

static int planes_of(int form) { return form == TILES ? PLANES : 1; }

static void configure(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes_of_row[16];
        uint8_t rows[16];
    } __attribute__((packed)) tiles = {.palette = 1};
    for (int n = 0; n < 8; n++) tiles.bytes_of_row[n] = ROW_BYTES, tiles.rows[n] = SIDE;
    __asm__ volatile("" ::"r"(&tiles) : "memory"); /* GCC 12 takes it that only the first 8 bytes are read */
    _tile_loadconfig(&tiles);
}

/* sums [BLOCK, BLOCK], rows `next` apart, in two by two tiles, = left times right, both [steps, planes, 2, TILE] */
static inline __attribute__((always_inline)) void multiply_block(
    const int planes, long steps, const float *left, const float *right, float *sums, long next) {
#define ADD_ALL                                                              \
    do {                                                                     \
        _tile_dpbf16ps(0, 4, 6);                                             \
        _tile_dpbf16ps(1, 4, 7);                                             \
        _tile_dpbf16ps(2, 5, 6);                                             \
        _tile_dpbf16ps(3, 5, 7);                                             \
    } while (0)
#define LOAD_LEFT(plane)                                                     \
    do {                                                                     \
        _tile_loadd(4, x + 2 * (plane) * TILE, ROW_BYTES);                   \
        _tile_loadd(5, x + (2 * (plane) + 1) * TILE, ROW_BYTES);             \
    } while (0)
#define LOAD_RIGHT(plane)                                                    \
    do {                                                                     \
        _tile_loadd(6, y + 2 * (plane) * TILE, ROW_BYTES);                   \
        _tile_loadd(7, y + (2 * (plane) + 1) * TILE, ROW_BYTES);             \
    } while (0)
    enum { HIGH, MIDDLE, LOW };
    const long room = step_room(planes);
    const float *x = left, *y = right;
    __asm__ volatile("" ::: "memory"); /* the compiler does not know that tiles are loaded from memory */
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long step = 0; step < steps; step++, x += room, y += room) {
        if (planes == PLANES) {
            LOAD_LEFT(HIGH);
            LOAD_RIGHT(LOW);
            ADD_ALL;
            LOAD_RIGHT(MIDDLE);
            ADD_ALL;
            LOAD_LEFT(MIDDLE);
            ADD_ALL;
            LOAD_RIGHT(HIGH);
            ADD_ALL;
            LOAD_LEFT(LOW);
            ADD_ALL;
            LOAD_LEFT(HIGH);
            ADD_ALL;
        } else {
            LOAD_LEFT(HIGH);
            LOAD_RIGHT(HIGH);
            ADD_ALL;
        }
    }
    _tile_stored(0, sums, next * sizeof(float));
    _tile_stored(1, sums + SIDE, next * sizeof(float));
    _tile_stored(2, sums + SIDE * next, next * sizeof(float));
    _tile_stored(3, sums + SIDE * next + SIDE, next * sizeof(float));
    __asm__ volatile("" ::: "memory");
#undef ADD_ALL
#undef LOAD_LEFT
#undef LOAD_RIGHT
}

static Factor turned(Factor factor) { return (Factor){.at = factor.at, .row = factor.column, .column = factor.row}; }

long room_for_tiles(long terms, long columns, int form) {
    return (columns + BLOCK - 1) / BLOCK * steps_of(terms) * step_room(planes_of(form));
}

Factor lay_out_tiles(long terms, long columns, Factor right, float *to) {
    const long panel = steps_of(terms) * step_room(planes_of(right.form));
    pack_tiles(planes_of(right.form), 0, columns, terms, turned(right), to, panel);
    return (Factor){.at = to, .panel = panel, .form = right.form};
}

/* What becomes of the sums of a block, of which so many rows and columns are there. */
typedef struct {
    int adds, positive;
    const float *bias;
    float *to;
    long next;
} Leaving;

static inline __attribute__((always_inline)) void leave_row(
    const float *sums, long columns, const int whole, const Leaving *leaving, float *to) {
    for (long n = 0; n < columns; n += LANES) {
        const __mmask16 there = whole ? 0xffff : first_lanes(columns - n);
        __m512 value = _mm512_load_ps(sums + n);
        if (leaving->adds) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(there, to + n));
        if (leaving->bias) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(there, leaving->bias + n));
        if (leaving->positive) value = (__m512)larger((vector)value, all(0));
        _mm512_mask_storeu_ps(to + n, there, value);
    }
}

static void leave_block(long rows, long columns, const float *sums, const Leaving *leaving) {
    float *to = leaving->to;
    if (columns == BLOCK && leaving->adds && !leaving->bias && !leaving->positive)
        for (long row = 0; row < rows; row++, to += leaving->next, sums += BLOCK)
            for (long n = 0; n < BLOCK; n += LANES) store(to + n, load(to + n) + load(sums + n));
    else if (columns == BLOCK)
        for (long row = 0; row < rows; row++, to += leaving->next, sums += BLOCK) leave_row(sums, BLOCK, 1, leaving, to);
    else
        for (long row = 0; row < rows; row++, to += leaving->next, sums += BLOCK) leave_row(sums, columns, 0, leaving, to);
}

static void fetch_to_write(long rows, const Leaving *leaving) {
    for (long row = 0; row < rows; row++)
        for (long n = 0; n < BLOCK; n += LANES) __builtin_prefetch(leaving->to + row * leaving->next + n, 1, 3);
}

/* A chunk of rows against columns, both packed: blocks of a left factor `left_room` apart, those of a right one `right_room`. */
static void multiply_packed(
    int planes, long rows, long columns, long terms, const float *left, long left_room, const float *right, long right_room,
    Leaving leaving) {
    float sums[BLOCK * BLOCK] __attribute__((aligned(64)));
    const long steps = steps_of(terms);
    for (long column = 0; column < columns; column += BLOCK, right += right_room)
        for (long row = 0; row < rows; row += BLOCK) {
            const long high = rows - row < BLOCK ? rows - row : BLOCK, wide = columns - column < BLOCK ? columns - column : BLOCK;
            const float *x = left + row / BLOCK * left_room;
            Leaving block = leaving;
            block.bias = leaving.bias ? leaving.bias + column : 0;
            block.to = leaving.to + row * leaving.next + column;
            const int as_they_are = high == BLOCK && wide == BLOCK && !block.adds && !block.bias && !block.positive;
            float *to = as_they_are ? block.to : sums;
            const long next = as_they_are ? block.next : BLOCK;
            if (!as_they_are) fetch_to_write(high, &block);
            if (planes == 1)
                multiply_block(1, steps, x, right, to, next);
            else
                multiply_block(PLANES, steps, x, right, to, next);
            if (!as_they_are) leave_block(high, wide, sums, &block);
        }
}

void multiply_tiles(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    static __thread float left_space[CHUNK / BLOCK * (PART / TERMS) * 2 * PLANES * TILE] __attribute__((aligned(64)));
    static __thread float right_space[SHARED / BLOCK * (PART / TERMS) * 2 * PLANES * TILE] __attribute__((aligned(64)));
    const int planes = planes_of(right.form);
    const long room = PART / TERMS * step_room(planes);
    configure();
    for (long first = 0; first < terms; first += PART) {
        const long some = terms - first < PART ? terms - first : PART;
        for (long begin = 0; begin < columns; begin += right.panel ? columns : SHARED) {
            const long wide = right.panel || columns - begin < SHARED ? columns - begin : SHARED;
            const float *panels = right.at + first / TERMS * step_room(planes);
            if (!right.panel) {
                const Factor these = {.at = right.at + first * right.row + begin * right.column, .row = right.row,
                                      .column = right.column};
                pack_tiles(planes, 0, wide, some, turned(these), right_space, room);
                panels = right_space;
            }
            for (long row = 0; row < rows; row += CHUNK) {
                const long count = rows - row < CHUNK ? rows - row : CHUNK;
                if (begin == 0 || rows > CHUNK) {
                    const Factor these = {.at = left.at + row * left.row + first * left.column, .row = left.row,
                                          .column = left.column};
                    pack_tiles(planes, 1, count, some, these, left_space, room);
                }
                const int ends = first + some == terms;
                const Leaving leaving = {
                    .adds = first > 0 || ending.keep,
                    .positive = ends && ending.positive,
                    .bias = ends && ending.bias ? ending.bias + begin : 0,
                    .to = result + row * next + begin,
                    .next = next,
                };
                multiply_packed(planes, count, wide, some, left_space, room, panels, right.panel ? right.panel : room,
                                leaving);
            }
        }
    }
    _tile_release();
}

static sigjmp_buf refused;

static void refuse(int number) { siglongjmp(refused, number); }

/* Whether a product comes out right that all tiles and planes have a part in. */
static int multiplies_well(void) {
    float left[BLOCK * TERMS], right[TERMS * BLOCK], result[BLOCK * BLOCK];
    for (int n = 0; n < BLOCK * TERMS; n++) left[n] = 1 + n * 0x1.000202p-11f, right[n] = 2 - n * 0x1.000406p-12f;
    multiply_tiles(BLOCK, BLOCK, TERMS, (Factor){.at = left, .row = TERMS, .column = 1},
                   (Factor){.at = right, .row = BLOCK, .column = 1, .form = TILES}, (Ending){0}, result, BLOCK);
    for (int row = 0; row < BLOCK; row++)
        for (int column = 0; column < BLOCK; column++) {
            double exact = 0;
            for (int n = 0; n < TERMS; n++) exact += (double)left[row * TERMS + n] * right[n * BLOCK + column];
            if (!(fabs(result[row * BLOCK + column] - exact) < 1e-6 * exact)) return 0;
        }
    return 1;
}

/* The same, with a guard: some systems let a process ask for tiles and refuse the instruction. A signal's handler begins
   with the control word that a process begins with; what this thread does with tiny numbers must not change by it. */
static int try_tiles(void) {
    struct sigaction refusing = {.sa_handler = refuse}, before;
    const unsigned control = _mm_getcsr();
    volatile int well = 0;
    if (sigaction(SIGILL, &refusing, &before)) return 0;
    if (!sigsetjmp(refused, 1)) well = multiplies_well();
    _mm_setcsr(control);
    sigaction(SIGILL, &before, 0);
    return well;
}

int takes_tiles(void) { return syscall(SYS_arch_prctl, ASK_FOR_PERMISSION, OF_TILE_DATA) == 0 && try_tiles(); }

#else

int takes_tiles(void) { return 0; }

long room_for_tiles(long terms, long columns, int form) {
    (void)terms, (void)columns, (void)form;
    return 0;
}

Factor lay_out_tiles(long terms, long columns, Factor right, float *to) {
    (void)terms, (void)columns, (void)to;
    return right;
}

void multiply_tiles(
    long rows, long columns, long terms, Factor left, Factor right, Ending ending, float *result, long next) {
    (void)rows, (void)columns, (void)terms, (void)left, (void)right, (void)ending, (void)result, (void)next;
}

#endif
