/* A search at work: sentences that are searched side by side, of one job or of several. A worker keeps as many hypotheses
 * going as make good products: a sentence that ends makes room for the next. */

#ifndef REGARD_SEARCH_H
#define REGARD_SEARCH_H

#include <setjmp.h>
#include <stdlib.h>

#include "choice.h"
#include "layers.h"

#define MAX_BEAM MAX_BEST
#define LOGIT_PANELS (512 / PANEL) /* of the output layer at once, so that logits stay in the cache */
#define AVERAGED_ROWS 24 /* whose logits are there at once where there are several models */

/* One model, or several with one vocabulary whose probabilities are averaged, or else their logarithms. */
typedef struct {
    const Model *each; /* [count] */
    long count, logarithms;
} Models;

typedef struct {
    Models models;
    long sentences, workers, beam, best, rows, batch_tokens; /* rows: hypotheses that a worker keeps going */
    long positions; /* whose keys and values a worker's sentences may come to need */
    int32_t begin_mark, end_mark;
    long forbidden;
    const int64_t *never;
    const int32_t *source;       /* the tokens of all sentences, one after the other */
    const int64_t *source_first; /* [sentences + 1] */
    const int64_t *limits;       /* [sentences]: the most tokens of an output */
    const double *penalties;     /* [largest limit + 1]: by what a log-probability is divided */
    int64_t next, done, stop, failed; /* shared by all workers; stop may be set from outside */
    int32_t *tokens;             /* of each sentence `best` outputs, each with room for its limit */
    float *token_values;         /* the same: the log-probability of each token, the end mark's behind the last */
    const int64_t *tokens_first; /* [sentences] */
    int32_t *found;              /* [sentences]: outputs found */
    int32_t *lengths;            /* [sentences, best] */
    double *log_probabilities, *scores; /* [sentences, best] */
    uint8_t *finished;           /* [sentences, best] */
    long watched;                /* whether the first output is to show the best hypothesis so far, after each step */
    uint8_t *given_up, *ended;   /* [sentences] or null: whom nobody waits for any more, and who has ended */
} Job;

typedef struct Allocation {
    struct Allocation *next, *before;
    double alignment[2];
} Allocation;

/* Encoded sentences that share their memory, until the last of them ends. */
typedef struct {
    long left; /* not ended yet */
    float *memory;
} Group;

typedef struct {
    int32_t *tokens; /* [steps] */
    float *values;   /* [steps]: the log-probability of each token, as it was chosen */
    uint8_t *slots;  /* [steps]: in which place of each earlier step its keys and values are */
    double log_probability;
} Row;

typedef struct {
    int32_t *tokens;
    float *values; /* one more than there are tokens, if it is finished */
    long length;
    double log_probability, score;
    int finished;
} Output;

typedef struct Sentence {
    struct Sentence *next;
    Job *job;
    long number, steps, limit, live, places, outputs, taken; /* taken: steps for which it has a block */
    Group *group;
    const float *memory;
    double to_beat;
    float **made;     /* [limit]: keys and values of each step [beam, position_size] */
    Row *rows, *other; /* [beam]: what lives, and room for what will */
    Output *output;   /* [beam] */
} Sentence;

typedef struct Block {
    struct Block *next;
    long beam;
} Block;

typedef struct {
    Models models; /* of the newest job, whose positions reach furthest */
    long widest, width, features; /* the largest of the models', and the widths of all together */
    long most_rows, most_kept; /* hypotheses at once; and positions whose keys and values they may come to need */
    jmp_buf no_memory;
    Allocation *allocations;
    Block *blocks; /* free places for keys and values of one step of one sentence */
    Sentence *live, *waiting;
    long live_rows, places, kept, capacity, positions; /* places: rows that live sentences may come to have */
    long ended; /* sentences, ever */
    Space space;
    float *x, *logits, *average;
    Choice *choices;
    const Job **row_jobs;
    int32_t *row_tokens, *row_positions, *memory_length;
    float **own;
    const float **earlier, **memory;
    long earlier_size;
} Worker;

#define MAKE(type, count) ((type *)allocate(worker, (size_t)(count) * sizeof(type)))
#define RENEW(place, type, count) (give_back(worker, (void *)(place)), (place) = 0, (place) = MAKE(type, count))

#pragma GCC visibility push(hidden)

void *allocate(Worker *worker, size_t bytes);
void give_back(Worker *worker, void *given);

/* Room for the rows of a step or of a group, and for attention to so many positions. */
void make_room(Worker *worker, long rows, long positions);

/* For keys and values of one step; what waits may have been left by a sentence with a narrower beam. */
float *take_block(Worker *worker, long beam);

/* One more token of every live hypothesis; leaves the best continuations of each in `choices`. */
void look_ahead(Worker *worker);

/* Before anything else, but after `no_memory` is set: where all of these go when there is none left. */
void prepare(Worker *worker);

/* Encode `count` sentences of a job from the `first` on, which then wait. */
void take_up(Worker *worker, Job *job, int64_t first, long count);

/* Whether there is room for one more sentence with such a beam, which may come to need so many positions. */
int has_room(const Worker *worker, long beam, long positions);
int has_room_for(const Worker *worker, const Sentence *sentence);

/* Begin to search a sentence that waits; there must be one. */
void begin_next(Worker *worker);

/* One more token for every hypothesis; sentences that end leave. */
void step_all(Worker *worker);

/* Free what waits to be used again. */
void give_back_blocks(Worker *worker);

/* Free everything, the worker too. */
void dismiss(Worker *worker);

#pragma GCC visibility pop

#endif
