/* A step of Muon on one matrix: momentum, the Newton-Schulz iteration, decay and change, as regard/train/muon.py tells it. */

#include "multiply.h"

#define ITERATIONS 5 /* and these coefficients: as in muon.py */
#define A 3.4445f
#define B -4.7750f
#define C 2.0315f
#define SMALLEST_NORM 1e-7f
#define BAND (PANEL > 32 ? PANEL : 32) /* columns of a symmetric product that are made together */

/* x = (1 - momentum) gradient + momentum mean, the mean having been moved towards the gradient; divided by its norm. */
static void begin(long size, float momentum, const float *gradient, float *mean, float *x) {
    vector squares[2] = {all(0), all(0)};
    for (long n = 0; n < size; n += LANES) {
        const vector g = load(gradient + n), m = load(mean + n) + (1 - momentum) * (g - load(mean + n));
        const vector ahead = g + momentum * (m - g);
        store(mean + n, m);
        store(x + n, ahead);
        squares[n / LANES % 2] += ahead * ahead;
    }
    const float norm = sqrtf(sum_of(squares[0] + squares[1]));
    const float factor = norm > SMALLEST_NORM ? norm : SMALLEST_NORM;
    for (long n = 0; n < size; n += LANES) store(x + n, load(x + n) / factor);
}

/* result [rows, rows] = left [rows, terms] times right [terms, rows], where that is symmetric: what stands below
 * the bands of the diagonal is copied from above. `other` [rows, rows], or null: the result is then C times that plus B times `other`. */
static void multiply_symmetric(long rows, long terms, const float *left, Factor right, const float *other, float *result) {
    for (long column = 0; column < rows; column += BAND) {
        const long end = column + BAND < rows ? column + BAND : rows;
        const Factor band = {right.at + column * right.column, right.row, right.column, 0, right.form};
        multiply_matrices(end, end - column, terms, (Factor){left, terms, 1, 0, 0}, band, (Ending){0}, result + column, rows);
        for (long row = 0; row < end && other; row++)
            for (long n = row * rows + column; n < row * rows + end; n += LANES)
                store(result + n, load(result + n) * C + load(other + n) * B);
        turn_part(column, end - column, result + column, rows, result + column * rows, rows);
    }
}

/* From x [rows, columns] of norm 1, no more rows than columns, to about the nearest orthogonal matrix, which is left in `to`.
 * One iteration: x ← A x + (B xxᵀ + C (xxᵀ)²) x. */
static void iterate(int form, long rows, long columns, float *x, float *to, float *gram, float *factor) {
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        multiply_symmetric(rows, columns, x, (Factor){x, 1, columns, 0, form}, 0, gram);
        multiply_symmetric(rows, rows, gram, (Factor){gram, rows, 1, 0, form}, gram, factor);
        for (long n = 0; n < rows * columns; n += LANES) store(to + n, load(x + n) * A);
        multiply_matrices(rows, columns, rows, (Factor){factor, rows, 1, 0, 0}, (Factor){x, columns, 1, 0, form},
                          (Ending){.keep = 1}, to, columns);
        float *const next = to;
        to = x, x = next;
    }
}

/* weight [rows, columns] ← kept weight - change O, all sizes multiples of LANES, with products in one of the forms of multiply.h;
 * space: 2 rows columns + 2 shorter side² */
void muon_step(
    long rows, long columns, float momentum, float kept, float change, int form, const float *gradient, float *mean,
    float *weight, float *space) {
    const long size = rows * columns, shorter = rows < columns ? rows : columns;
    float *x = space, *other = x + size, *gram = other + size, *factor = gram + shorter * shorter;
    if (rows <= columns) {
        begin(size, momentum, gradient, mean, x);
        iterate(form, rows, columns, x, other, gram, factor);
    } else {
        begin(size, momentum, gradient, mean, other);
        turn_matrix(rows, columns, other, x);
        iterate(form, columns, rows, x, other, gram, factor);
        turn_matrix(columns, rows, other, x); /* after an odd number of iterations the result is in `other` */
        other = x;
    }
    for (long n = 0; n < size; n += LANES) store(weight + n, load(weight + n) * kept - load(other + n) * change);
}
