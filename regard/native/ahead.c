/* A step of all hypotheses under way: every model takes one more token of each, then all say what comes next. */

#include "average.h"
#include "search.h"

static long source_length(const Sentence *sentence) {
    const int64_t *first = sentence->job->source_first + sentence->number;
    return first[1] - first[0];
}

/* The most positions that any row may attend to: of its own beginning, in `longest`, or of its source. */
static long most_positions(const Worker *worker, long *longest) {
    long positions = *longest = 1;
    for (const Sentence *sentence = worker->live; sentence; sentence = sentence->next) {
        const long length = source_length(sentence);
        if (sentence->steps + 1 > *longest) *longest = sentence->steps + 1;
        if (length > positions) positions = length;
    }
    return *longest > positions ? *longest : positions;
}

/* Every live hypothesis as the decoders take it. */
static Rows gather(Worker *worker) {
    const long each = position_size(worker->models.each), rows = worker->live_rows;
    long row = 0, longest;
    make_room(worker, rows, most_positions(worker, &longest));
    if (rows * longest > worker->earlier_size) {
        worker->earlier_size = 2 * rows * longest;
        RENEW(worker->earlier, const float *, worker->earlier_size);
    }
    for (Sentence *sentence = worker->live; sentence; sentence = sentence->next) {
        sentence->made[sentence->steps] = take_block(worker, sentence->job->beam);
        sentence->taken = sentence->steps + 1;
        for (long n = 0; n < sentence->live; n++, row++) {
            const Row *from = sentence->rows + n;
            worker->row_jobs[row] = sentence->job;
            worker->row_tokens[row] = from->tokens[sentence->steps];
            worker->row_positions[row] = sentence->steps;
            worker->own[row] = sentence->made[sentence->steps] + n * each;
            for (long t = 0; t < sentence->steps; t++)
                worker->earlier[row * longest + t] = sentence->made[t] + from->slots[t] * each;
            worker->memory[row] = sentence->memory;
            worker->memory_length[row] = source_length(sentence);
        }
    }
    return (Rows){
        rows, worker->row_tokens, worker->row_positions, worker->own, worker->earlier, longest, worker->memory,
        worker->memory_length};
}

static void look_at_row(const Worker *worker, long row, const float *logits, long first, long count) {
    const Job *job = worker->row_jobs[row];
    look_at(worker->choices + row, job->beam, logits, first, count, job->forbidden, job->never);
}

/* What the only model says comes next, a few panels of the output layer at a time. */
static void look_at_panels(Worker *worker, long rows) {
    const Model *model = worker->models.each;
    const Matrix *output = &model->output;
    const long next = LOGIT_PANELS * PANEL;
    if (output->bytes) quantise_rows(rows, model->width, worker->x, worker->space.quantised);
    for (long panel = 0; panel < panels_of(output); panel += LOGIT_PANELS) {
        const long last = panel + LOGIT_PANELS < panels_of(output) ? panel + LOGIT_PANELS : panels_of(output);
        const long from = panel * PANEL, to = last * PANEL < output->outputs ? last * PANEL : output->outputs;
        multiply_panels(output, panel, last, rows, worker->x, worker->space.quantised, 0, worker->logits, next);
        for (long row = 0; row < rows; row++)
            look_at_row(worker, row, worker->logits + row * next, from, to - from);
    }
}

/* The average of what all models say comes next in some rows, from the `first` of `rows` on. */
static void average_some(Worker *worker, long rows, long first, long some, long vocabulary, long next) {
    const Models *models = &worker->models;
    const float *x = worker->x;
    for (long n = 0; n < models->count; n++) {
        const Model *model = models->each + n;
        const Matrix *output = &model->output;
        const float *own = x + first * model->width;
        if (output->bytes) quantise_rows(some, model->width, own, worker->space.quantised);
        multiply_panels(
            output, 0, panels_of(output), some, own, worker->space.quantised, 0, worker->logits, next);
        if (models->logarithms)
            add_logarithms(some, next, n == 0, 1.0f / models->count, worker->logits, worker->average);
        else
            add_probabilities(some, vocabulary, next, n == 0, worker->logits, worker->average);
        x += rows * model->width;
    }
}

static void look_at_averages(Worker *worker, long rows) {
    const long vocabulary = worker->models.each->output.outputs, next = rounded_up(vocabulary);
    for (long first = 0; first < rows; first += AVERAGED_ROWS) {
        const long some = rows - first < AVERAGED_ROWS ? rows - first : AVERAGED_ROWS;
        average_some(worker, rows, first, some, vocabulary, next);
        for (long n = 0; n < some; n++) look_at_row(worker, first + n, worker->average + n * next, 0, vocabulary);
    }
}

void look_ahead(Worker *worker) {
    const Models *models = &worker->models;
    const Rows rows = gather(worker);
    float *x = worker->x;
    for (const Model *model = models->each; model < models->each + models->count; model++) {
        decode(model, &rows, worker->space, x);
        x += rows.rows * model->width;
    }
    for (long row = 0; row < rows.rows; row++) begin_choice(worker->choices + row);
    if (models->count == 1)
        look_at_panels(worker, rows.rows);
    else
        look_at_averages(worker, rows.rows);
}
