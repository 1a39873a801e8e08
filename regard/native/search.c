/* Beam search over any number of sentences, as search/beam.py describes it. Several workers may share one job. */

#include "search.h"

#include <limits.h>

#define LOGIT_PANELS 8 /* of the output layer at once, so that logits stay in the cache */

static void *allocate(Worker *worker, size_t bytes) {
    Allocation *made = malloc(sizeof(Allocation) + bytes);
    if (!made) longjmp(worker->no_memory, 1);
    made->before = 0;
    made->next = worker->allocations;
    if (made->next) made->next->before = made;
    worker->allocations = made;
    return made + 1;
}

static void give_back(Worker *worker, void *given) {
    if (!given) return;
    Allocation *made = (Allocation *)given - 1;
    if (made->next) made->next->before = made->before;
    if (made->before)
        made->before->next = made->next;
    else
        worker->allocations = made->next;
    free(made);
}

#define MAKE(type, count) ((type *)allocate(worker, (size_t)(count) * sizeof(type)))
#define RENEW(place, type, count) (give_back(worker, (void *)(place)), (place) = 0, (place) = MAKE(type, count))

/* Room for the rows of a step or of a group, and for attention to so many positions. */
static void make_room(Worker *worker, long rows, long positions) {
    const Model *model = worker->model;
    if (rows > worker->capacity) {
        worker->capacity = rows;
        RENEW(worker->space.wide, float, rows * model->widest);
        RENEW(worker->space.narrow, float, rows * model->width);
        RENEW(worker->space.quantised.bytes, uint8_t, rows * model->widest);
        RENEW(worker->space.quantised.scales, float, rows);
        RENEW(worker->x, float, rows * model->width);
    }
    if (positions > worker->positions) {
        worker->positions = padded_to_lanes(positions + positions / 2);
        RENEW(worker->space.scores, float, worker->positions);
        RENEW(worker->space.places, const float *, worker->positions);
        RENEW(worker->space.turned, float, worker->positions * model->width);
    }
}

void take_up(Worker *worker, Job *job, int64_t first, long count) {
    const Model *model = worker->model;
    for (long begin = 0, end; begin < count; begin = end) {
        const int64_t *at = job->source_first + first;
        for (end = begin + 1; end < count && at[end + 1] - at[begin] <= job->batch_tokens;) end++;
        const long rows = at[end] - at[begin];
        int32_t lengths[end - begin];
        long longest = 0;
        for (long n = begin; n < end; n++) {
            lengths[n - begin] = at[n + 1] - at[n];
            longest = lengths[n - begin] > longest ? lengths[n - begin] : longest;
        }
        make_room(worker, rows, longest);
        Group *group = MAKE(Group, 1);
        group->left = end - begin;
        long size = 0;
        for (long n = begin; n < end; n++) size += memory_size(model, lengths[n - begin]);
        group->memory = MAKE(float, size);
        encode(model, end - begin, lengths, job->source + at[begin], worker->space, worker->x);
        remember(model, end - begin, lengths, worker->x, worker->space, group->memory);
        const float *memory = group->memory;
        Sentence **last = &worker->waiting;
        while (*last) last = &(*last)->next;
        for (long n = begin; n < end; n++) {
            Sentence *sentence = MAKE(Sentence, 1);
            memset(sentence, 0, sizeof(*sentence));
            sentence->job = job;
            sentence->number = first + n;
            sentence->group = group;
            sentence->memory = memory;
            memory += memory_size(model, lengths[n - begin]);
            *last = sentence;
            last = &sentence->next;
        }
    }
}

static Row *make_rows(Worker *worker, long beam, long limit) {
    Row *rows = allocate(worker, beam * (sizeof(Row) + (limit + 1) * (sizeof(int32_t) + sizeof(float) + 1)));
    int32_t *tokens = (int32_t *)(rows + beam);
    float *values = (float *)(tokens + beam * (limit + 1));
    uint8_t *slots = (uint8_t *)(values + beam * (limit + 1));
    for (long n = 0; n < beam; n++) {
        rows[n].tokens = tokens + n * (limit + 1);
        rows[n].values = values + n * (limit + 1);
        rows[n].slots = slots + n * (limit + 1);
    }
    return rows;
}

int has_room(const Worker *worker, long beam, long limit) {
    return !worker->live ||
           (worker->places + beam <= worker->most_rows && worker->kept + beam * limit <= worker->most_kept);
}

int has_room_for(const Worker *worker, const Sentence *sentence) {
    return has_room(worker, sentence->job->beam, sentence->job->limits[sentence->number]);
}

void begin_next(Worker *worker) {
    Sentence *sentence = worker->waiting;
    const Job *job = sentence->job;
    worker->waiting = sentence->next;
    sentence->limit = job->limits[sentence->number];
    sentence->live = 1;
    sentence->places = job->beam;
    sentence->to_beat = -INFINITY;
    sentence->made = MAKE(float *, sentence->limit);
    sentence->rows = make_rows(worker, job->beam, sentence->limit);
    sentence->other = make_rows(worker, job->beam, sentence->limit);
    sentence->output = MAKE(Output, job->beam);
    sentence->rows[0].tokens[0] = job->begin_mark;
    sentence->rows[0].log_probability = 0;
    sentence->next = worker->live;
    worker->live = sentence;
    worker->live_rows++;
    worker->places += job->beam;
    worker->kept += job->beam * sentence->limit;
}

static int better(const Output *a, const Output *b) {
    return a->finished != b->finished ? a->finished : a->score > b->score;
}

static long place_of(const Sentence *sentence, long n) {
    return sentence->job->tokens_first[sentence->number] + n * sentence->limit;
}

/* Hand the best outputs over, and free what the sentence held. */
static void end(Worker *worker, Sentence *sentence) {
    Job *job = sentence->job;
    Output *output = sentence->output;
    for (long n = 1; n < sentence->outputs; n++) { /* sorted by insertion: what was found first stays first */
        const Output moved = output[n];
        long place = n;
        for (; place > 0 && better(&moved, output + place - 1); place--) output[place] = output[place - 1];
        output[place] = moved;
    }
    const long found = sentence->outputs < job->best ? sentence->outputs : job->best;
    job->found[sentence->number] = found;
    for (long n = 0; n < found; n++) {
        const long at = sentence->number * job->best + n;
        const long place = place_of(sentence, n);
        memcpy(job->tokens + place, output[n].tokens, output[n].length * sizeof(int32_t));
        memcpy(job->token_values + place, output[n].values, (output[n].length + output[n].finished) * sizeof(float));
        job->lengths[at] = output[n].length;
        job->log_probabilities[at] = output[n].log_probability;
        job->scores[at] = output[n].score;
        job->finished[at] = output[n].finished;
    }
    for (long n = 0; n < sentence->outputs; n++) {
        give_back(worker, output[n].tokens);
        give_back(worker, output[n].values);
    }
    for (long n = 0; n < sentence->taken; n++) {
        Block *block = (Block *)sentence->made[n];
        block->beam = job->beam;
        block->next = worker->blocks;
        worker->blocks = block;
    }
    if (--sentence->group->left == 0) {
        give_back(worker, sentence->group->memory);
        give_back(worker, sentence->group);
    }
    give_back(worker, sentence->made);
    give_back(worker, sentence->rows);
    give_back(worker, sentence->other);
    give_back(worker, output);
    worker->ended++;
    if (job->ended) job->ended[sentence->number] = 1;
    give_back(worker, sentence);
    __atomic_fetch_add(&job->done, 1, __ATOMIC_RELAXED);
}

/* What waits may have been left by a sentence with a narrower beam. */
static float *take_block(Worker *worker, long beam) {
    const Model *model = worker->model;
    Block *block = worker->blocks;
    if (!block || block->beam < beam) return MAKE(float, beam * model->decoder_layers * 2 * model->width);
    worker->blocks = block->next;
    return (float *)block;
}

static long source_length(const Sentence *sentence) {
    const int64_t *first = sentence->job->source_first + sentence->number;
    return first[1] - first[0];
}

/* One more token of every live hypothesis; leaves the best continuations of each in `choices`. */
static void look_ahead(Worker *worker) {
    const Model *model = worker->model;
    const long each = model->decoder_layers * 2 * model->width, rows = worker->live_rows;
    long row = 0, longest = 1, positions = 1;
    for (Sentence *sentence = worker->live; sentence; sentence = sentence->next) {
        const long length = source_length(sentence);
        if (sentence->steps + 1 > longest) longest = sentence->steps + 1;
        if (length > positions) positions = length;
    }
    make_room(worker, rows, longest > positions ? longest : positions);
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
    const Rows given = {
        rows, worker->row_tokens, worker->row_positions, worker->own, worker->earlier, longest, worker->memory,
        worker->memory_length};
    decode(model, &given, worker->space, worker->x);

    const Matrix *output = &model->output;
    if (output->bytes) quantise_rows(rows, model->width, worker->x, worker->space.quantised);
    for (row = 0; row < rows; row++) begin_choice(worker->choices + row);
    for (long panel = 0; panel < panels_of(output); panel += LOGIT_PANELS) {
        const long last = panel + LOGIT_PANELS < panels_of(output) ? panel + LOGIT_PANELS : panels_of(output);
        const long from = panel * PANEL, to = last * PANEL < output->outputs ? last * PANEL : output->outputs;
        const long next = LOGIT_PANELS * PANEL;
        multiply_panels(output, panel, last, rows, worker->x, worker->space.quantised, 0, worker->logits, next);
        for (row = 0; row < rows; row++) {
            const Job *job = worker->row_jobs[row];
            look_at(
                worker->choices + row, job->beam, worker->logits + row * next, from, to - from, job->forbidden,
                job->never);
        }
    }
}

static void put_aside(
    Worker *worker, Sentence *sentence, const Row *row, int32_t last, float value, double log_probability,
    int finished) {
    const Job *job = sentence->job;
    Output *output = sentence->output + sentence->outputs++;
    output->length = sentence->steps + !finished; /* the marks of beginning and end are no part of it */
    output->tokens = MAKE(int32_t, output->length + 1);
    memcpy(output->tokens, row->tokens + 1, sentence->steps * sizeof(int32_t));
    if (!finished) output->tokens[sentence->steps] = last;
    output->values = MAKE(float, sentence->steps + 1);
    memcpy(output->values, row->values, sentence->steps * sizeof(float));
    output->values[sentence->steps] = value;
    output->log_probability = log_probability;
    output->score = log_probability / job->penalties[sentence->steps + 1];
    output->finished = finished;
    /* The score that one more output must exceed to be among the best. */
    long above = 0;
    double lowest = INFINITY;
    for (long n = 0; n < sentence->outputs; n++) {
        long rank = 0;
        if (!sentence->output[n].finished) continue;
        above++;
        for (long m = 0; m < sentence->outputs; m++)
            rank += sentence->output[m].finished && sentence->output[m].score > sentence->output[n].score;
        if (rank < job->best && sentence->output[n].score < lowest) lowest = sentence->output[n].score;
    }
    sentence->to_beat = above >= job->best ? lowest : -INFINITY;
}

/* Take the best continuations of a sentence, whose rows begin at `choices`; gives whether it goes on. */
static int advance(Worker *worker, Sentence *sentence, const Choice *choices) {
    const Job *job = sentence->job;
    double value[MAX_BEAM];
    float last[MAX_BEAM];
    int32_t token[MAX_BEAM], from[MAX_BEAM];
    long held = 0;
    for (long row = 0; row < sentence->live; row++) {
        const double less = normaliser(choices + row);
        if (less != less) return 0; /* not a number: there is nothing to rank any more */
        for (long n = 0; n < choices[row].held; n++) {
            const float each = choices[row].value[n] - less;
            const double candidate = sentence->rows[row].log_probability + each;
            if (!(candidate > -INFINITY) || (held == sentence->places && !(candidate > value[held - 1]))) break;
            long place = held < sentence->places ? held++ : held - 1;
            for (; place > 0 && value[place - 1] < candidate; place--) {
                value[place] = value[place - 1];
                last[place] = last[place - 1];
                token[place] = token[place - 1];
                from[place] = from[place - 1];
            }
            value[place] = candidate;
            last[place] = each;
            token[place] = choices[row].token[n];
            from[place] = row;
        }
    }
    const long length = sentence->steps + 1;
    long live = 0;
    for (long n = 0; n < held; n++) {
        const Row *row = sentence->rows + from[n];
        const int ended = token[n] == job->end_mark;
        if (ended || length >= sentence->limit) {
            put_aside(worker, sentence, row, token[n], last[n], value[n], ended);
            sentence->places -= ended;
            continue;
        }
        Row *made = sentence->other + live++;
        memcpy(made->tokens, row->tokens, length * sizeof(int32_t));
        memcpy(made->values, row->values, sentence->steps * sizeof(float));
        memcpy(made->slots, row->slots, sentence->steps);
        made->values[sentence->steps] = last[n];
        made->tokens[length] = token[n];
        made->slots[sentence->steps] = from[n];
        made->log_probability = value[n];
    }
    Row *rows = sentence->rows;
    sentence->rows = sentence->other;
    sentence->other = rows;
    sentence->live = live;
    sentence->steps = length;
    /* Log-probabilities only fall and the penalty only grows, so this is the most that a live one can still score. */
    return live > 0 && sentence->rows[0].log_probability / job->penalties[sentence->limit] > sentence->to_beat;
}

/* Show the best hypothesis so far where the first output will be. */
static void show(const Sentence *sentence) {
    const Job *job = sentence->job;
    memcpy(job->tokens + place_of(sentence, 0), sentence->rows[0].tokens + 1, sentence->steps * sizeof(int32_t));
    job->lengths[sentence->number * job->best] = sentence->steps;
}

void step_all(Worker *worker) {
    look_ahead(worker);
    const Choice *choices = worker->choices;
    worker->live_rows = worker->places = worker->kept = 0;
    for (Sentence **place = &worker->live; *place;) {
        Sentence *sentence = *place;
        const Job *job = sentence->job;
        const long rows = sentence->live;
        const int unwanted = job->given_up && __atomic_load_n(job->given_up + sentence->number, __ATOMIC_RELAXED);
        if (!unwanted && advance(worker, sentence, choices)) {
            worker->live_rows += sentence->live;
            worker->places += sentence->places;
            worker->kept += job->beam * sentence->limit;
            if (job->watched) show(sentence);
            place = &sentence->next;
        } else {
            *place = sentence->next;
            end(worker, sentence);
        }
        choices += rows;
    }
}

void prepare(Worker *worker) {
    const long most = worker->most_rows;
    make_room(worker, most, 1);
    worker->choices = MAKE(Choice, most);
    worker->logits = MAKE(float, most * LOGIT_PANELS * PANEL);
    worker->row_jobs = MAKE(const Job *, most);
    worker->row_tokens = MAKE(int32_t, most);
    worker->row_positions = MAKE(int32_t, most);
    worker->memory_length = MAKE(int32_t, most);
    worker->own = MAKE(float *, most);
    worker->memory = MAKE(const float *, most);
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

/* Take the next sentences of a job that others may share, as many as fit a batch. */
static int fetch(Worker *worker, Job *job) {
    const long most = job->rows / job->beam > 1 ? job->rows / job->beam : 1;
    int64_t first = __atomic_load_n(&job->next, __ATOMIC_RELAXED);
    long count;
    do { /* less towards the end, so that all workers end together */
        count = (job->sentences - first) / (2 * job->workers);
        count = count < 1 ? 1 : count > most ? most : count;
        if (first >= job->sentences) return 0;
    } while (!__atomic_compare_exchange_n(&job->next, &first, first + count, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    take_up(worker, job, first, count);
    return 1;
}

/* Do a share of the job, beside whoever else does. */
void search(Job *job) {
    Worker *const worker = calloc(1, sizeof(Worker));
    if (!worker || setjmp(worker->no_memory)) {
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
    } else {
        worker->model = job->model;
        worker->most_rows = job->rows > job->beam ? job->rows : job->beam;
        worker->most_kept = LONG_MAX;
        prepare(worker);
        while (!__atomic_load_n(&job->stop, __ATOMIC_RELAXED)) {
            while (has_room(worker, job->beam, 0) && (worker->waiting || fetch(worker, job))) begin_next(worker);
            if (!worker->live) break;
            step_all(worker);
        }
    }
    dismiss(worker);
}
