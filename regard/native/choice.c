#include "choice.h"

static inline int is_forbidden(long token, long forbidden, const int64_t *never) {
    for (long which = 0; which < forbidden; which++)
        if (never[which] == token) return 1;
    return 0;
}

static void keep(Choice *choice, long most, float value, int32_t token) {
    long place = choice->held < most ? choice->held++ : most - 1;
    for (; place > 0 && choice->value[place - 1] < value; place--) {
        choice->value[place] = choice->value[place - 1];
        choice->token[place] = choice->token[place - 1];
    }
    choice->value[place] = value;
    choice->token[place] = token;
}

void look_at(
    Choice *choice, long most, const float *logits, long first, long count, long forbidden, const int64_t *never) {
    const long whole = count / LANES * LANES;
    vector largest = all(-INFINITY);
    for (long n = 0; n < count; n += LANES) {
        const long lanes = n < whole ? LANES : count - n;
        if (lanes == LANES) {
            largest = larger(largest, load(logits + n));
            if (choice->held == most && !any_above(load(logits + n), choice->value[most - 1])) continue;
        }
        for (long lane = 0; lane < lanes; lane++) {
            const float value = logits[n + lane];
            if (lanes < LANES && value > largest[0]) largest[0] = value;
            if (choice->held == most && !(value > choice->value[most - 1])) continue;
            if (!is_forbidden(first + n + lane, forbidden, never)) keep(choice, most, value, first + n + lane);
        }
    }
    const float top = largest_of(largest);
    if (top > choice->largest) {
        choice->total *= exp((double)choice->largest - top);
        choice->largest = top;
    }
    if (choice->largest == -INFINITY) return; /* nothing that is possible yet */
    vector sum = all(0);
    for (long n = 0; n < whole; n += LANES) sum += exponential(load(logits + n) - choice->largest);
    choice->total += sum_of(sum);
    for (long n = whole; n < count; n++) choice->total += expf(logits[n] - choice->largest);
}

/* The `count` best of each row of logits: log-probabilities and numbers, minus infinity where there are too few. */
void best_tokens(
    long begin, long end, long vocabulary, long count, const float *logits, long forbidden, const int64_t *never,
    float *log_probabilities, int64_t *tokens) {
    Choice choice;
    for (long row = begin; row < end; row++) {
        begin_choice(&choice);
        look_at(&choice, count, logits + row * vocabulary, 0, vocabulary, forbidden, never);
        const double less = normaliser(&choice);
        for (long n = 0; n < count; n++) {
            log_probabilities[row * count + n] = n < choice.held ? choice.value[n] - less : -INFINITY;
            tokens[row * count + n] = n < choice.held ? choice.token[n] : 0;
        }
    }
}
