/* Beam search over any number of sentences, as search/beam.py describes it. Several workers may share one job. */

#include "search.h"

/* Positions whose keys and values a sentence may come to need: its own, and those of what it may say. */
static long needed_by(const Job *job, int64_t number) {
    return job->source_first[number + 1] - job->source_first[number] + job->beam * job->limits[number];
}

void take_up(Worker *worker, Job *job, int64_t first, long count) {
    const Models *models = &worker->models;
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
        for (long n = begin; n < end; n++) size += memory_size(models->each, lengths[n - begin]);
        group->memory = MAKE(float, size);
        for (const Model *model = models->each; model < models->each + models->count; model++) {
            encode(model, end - begin, lengths, job->source + at[begin], worker->space, worker->x);
            remember(model, end - begin, lengths, worker->x, worker->space, group->memory);
        }
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
            memory += memory_size(models->each, lengths[n - begin]);
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

int has_room(const Worker *worker, long beam, long positions) {
    return !worker->live ||
           (worker->places + beam <= worker->most_rows && worker->kept + positions <= worker->most_kept);
}

int has_room_for(const Worker *worker, const Sentence *sentence) {
    return has_room(worker, sentence->job->beam, needed_by(sentence->job, sentence->number));
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
    worker->kept += needed_by(job, sentence->number);
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
            worker->kept += needed_by(job, sentence->number);
            if (job->watched) show(sentence);
            place = &sentence->next;
        } else {
            *place = sentence->next;
            end(worker, sentence);
        }
        choices += rows;
    }
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
        const int64_t *at = job->source_first + first;
        while (count > 1 && at[count] - at[0] > job->positions) count--;
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
        worker->models = job->models;
        worker->most_rows = job->rows > job->beam ? job->rows : job->beam;
        worker->most_kept = job->positions;
        prepare(worker);
        while (!__atomic_load_n(&job->stop, __ATOMIC_RELAXED)) {
            while (has_room(worker, job->beam, 0) && (worker->waiting || fetch(worker, job)) &&
                   has_room_for(worker, worker->waiting))
                begin_next(worker);
            if (!worker->live) break;
            step_all(worker);
        }
    }
    dismiss(worker);
}
