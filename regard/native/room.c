/* The memory of a search: everything that a worker takes, and gives back at the latest when it is dismissed. */

#include "search.h"

void *allocate(Worker *worker, size_t bytes) {
    Allocation *made = malloc(sizeof(Allocation) + bytes);
    if (!made) longjmp(worker->no_memory, 1);
    made->before = 0;
    made->next = worker->allocations;
    if (made->next) made->next->before = made;
    worker->allocations = made;
    return made + 1;
}

void give_back(Worker *worker, void *given) {
    if (!given) return;
    Allocation *made = (Allocation *)given - 1;
    if (made->next) made->next->before = made->before;
    if (made->before)
        made->before->next = made->next;
    else
        worker->allocations = made->next;
    free(made);
}

void make_room(Worker *worker, long rows, long positions) {
    if (rows > worker->capacity) {
        worker->capacity = rows;
        RENEW(worker->space.wide, float, rows * worker->widest);
        RENEW(worker->space.narrow, float, rows * worker->width);
        RENEW(worker->space.quantised.bytes, uint8_t, rows * worker->widest);
        RENEW(worker->space.quantised.scales, float, rows);
        RENEW(worker->x, float, rows * worker->features);
    }
    if (positions > worker->positions) {
        worker->positions = rounded_up(positions + positions / 2);
        RENEW(worker->space.scores, float, worker->positions);
        RENEW(worker->space.places, const float *, worker->positions);
        RENEW(worker->space.turned, float, worker->positions * worker->width);
    }
}

/* What the largest model needs, and all of them side by side. */
static void measure(Worker *worker) {
    const Models *models = &worker->models;
    for (const Model *model = models->each; model < models->each + models->count; model++) {
        if (model->widest > worker->widest) worker->widest = model->widest;
        if (model->width > worker->width) worker->width = model->width;
        worker->features += model->width;
    }
}

/* Of one model a few panels of every row; of several all logits of some rows, and their average. */
static void make_logits(Worker *worker) {
    const Models *models = &worker->models;
    if (models->count == 1) {
        worker->logits = MAKE(float, worker->most_rows * LOGIT_PANELS * PANEL);
        return;
    }
    const long size = AVERAGED_ROWS * rounded_up(models->each->output.outputs);
    worker->logits = MAKE(float, size);
    worker->average = MAKE(float, size);
}

void prepare(Worker *worker) {
    const long most = worker->most_rows;
    measure(worker);
    make_room(worker, most, 1);
    worker->choices = MAKE(Choice, most);
    make_logits(worker);
    worker->row_jobs = MAKE(const Job *, most);
    worker->row_tokens = MAKE(int32_t, most);
    worker->row_positions = MAKE(int32_t, most);
    worker->memory_length = MAKE(int32_t, most);
    worker->own = MAKE(float *, most);
    worker->memory = MAKE(const float *, most);
}

float *take_block(Worker *worker, long beam) {
    Block *block = worker->blocks;
    if (!block || block->beam < beam) return MAKE(float, beam * position_size(worker->models.each));
    worker->blocks = block->next;
    return (float *)block;
}

void give_back_blocks(Worker *worker) {
    for (Block *block = worker->blocks, *next; block; block = next) {
        next = block->next;
        give_back(worker, block);
    }
    worker->blocks = 0;
}

void dismiss(Worker *worker) {
    for (Allocation *made = worker ? worker->allocations : 0, *next; made; made = next) {
        next = made->next;
        free(made);
    }
    free(worker);
}
