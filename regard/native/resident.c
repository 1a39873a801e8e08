/* A search that goes on: jobs may join while others are under way, and are searched beside them. */

#include "search.h"

/* A worker for one model, or for some together; null where there is no memory. It holds `rows` hypotheses at once, `kept` with their tokens. */
Worker *open_search(long rows, long kept) {
    Worker *const worker = calloc(1, sizeof(Worker));
    if (!worker) return 0;
    worker->most_rows = rows > MAX_BEAM ? rows : MAX_BEAM;
    worker->most_kept = kept;
    return worker;
}

/* Let a job join, all its sentences at once; 0 where there is no memory, after which the worker can only be dismissed. */
long join_search(Worker *const worker, Job *job) {
    if (setjmp(worker->no_memory)) return 0;
    worker->models = job->models;
    if (!worker->choices) prepare(worker);
    take_up(worker, job, 0, job->sentences);
    return 1;
}

/* Search for so many steps, or until a sentence ends or somebody rings and `more` steps have been made since: what ends
 * or comes meanwhile is then seen to together. Gives the sentences that are left; -1 where there is no memory, after
 * which the worker can only be dismissed. */
long run_search(Worker *const worker, long steps, long more, const int64_t *bell) {
    const long ended = worker->ended;
    if (setjmp(worker->no_memory)) return -1;
    do {
        while (worker->waiting && has_room_for(worker, worker->waiting)) begin_next(worker);
        if (!worker->live) break;
        step_all(worker);
        if ((worker->ended != ended || __atomic_load_n(bell, __ATOMIC_RELAXED)) && --more < 0) break;
    } while (--steps > 0);
    long left = 0;
    for (const Sentence *sentence = worker->live; sentence; sentence = sentence->next) left++;
    for (const Sentence *sentence = worker->waiting; sentence; sentence = sentence->next) left++;
    if (!left) give_back_blocks(worker);
    return left;
}

void close_search(Worker *worker) { dismiss(worker); }
