/* What plays are worth in one round, tabulated: in a round levels, modifiers and money stand still, so for a
 * hand type and a number of cards the sums are linear in kickers, plays made and discards left. Exact, but
 * for modifiers that count scored cards only on the last play: what those add is left out. */
#ifndef POKER_WORTH_H
#define POKER_WORTH_H
#include "rules.h"

struct linear {
    int32_t base, base_kicker, base_made, base_left;
    int32_t mult, mult_kicker, mult_made, mult_left;
    int64_t factor;
};

struct worth {
    const struct ruleset *rules;
    struct linear linear[2][TYPES][MOST_CARDS + 1]; /* by last play, type, cards played */
    int32_t face_base[DECK], face_mult[DECK];       /* of a scored card, by face */
    int32_t plays;
    int32_t conditional_count; /* modifiers that count scored cards under a condition */
    const struct modifier *conditional[MOST_OWNED];
};

static void add_modifier(struct worth *worth, const struct modifier *modifier)
{
    int conditional = modifier->hands != (1u << TYPES) - 1 || modifier->max_cards < MOST_CARDS || modifier->last_play;
    if (modifier->per == PER_SCORED) {
        int32_t *sums = modifier->effect == ADD_BASE ? worth->face_base : worth->face_mult;
        if (conditional)
            worth->conditional[worth->conditional_count++] = modifier;
        for (int face = 0; face < DECK && !conditional; face++)
            sums[face] += (int)(modifier->faces >> face & 1) * modifier->amount;
        return;
    }
    for (int last = modifier->last_play; last < 2; last++)
        for (int t = 0; t < TYPES; t++)
            for (int n = 1; n <= modifier->max_cards && modifier->hands >> t & 1; n++) {
                struct linear *to = &worth->linear[last][t][n];
                int32_t *sum = modifier->effect == ADD_BASE ? &to->base : &to->mult;
                if (modifier->effect == TIMES)
                    to->factor *= modifier->amount;
                else
                    /* the four sums stand in the order play, kicker, play made, discard left */
                    sum[modifier->per == PER_KICKER        ? 1
                        : modifier->per == PER_PLAY_MADE    ? 2
                        : modifier->per == PER_DISCARD_LEFT ? 3
                                                            : 0] += modifier->amount;
            }
}

static void tabulate(struct worth *worth, const struct ruleset *rules, const int32_t *levels, const uint8_t *owned,
                     int owned_count, int money)
{
    worth->rules = rules;
    worth->plays = rules->plays;
    worth->conditional_count = 0;
    memset(worth->linear, 0, sizeof worth->linear);
    memset(worth->face_mult, 0, sizeof worth->face_mult);
    for (int face = 0; face < DECK; face++)
        worth->face_base[face] = rules->chips[rank_of(face)];
    for (int last = 0; last < 2; last++)
        for (int t = 0; t < TYPES; t++)
            for (int n = 1; n <= MOST_CARDS; n++) {
                struct linear *to = &worth->linear[last][t][n];
                to->base = rules->base[t] + (levels[t] - 1) * rules->base_step[t];
                to->mult = rules->mult[t] + (levels[t] - 1) * rules->mult_step[t];
                to->factor = 1;
            }
    for (int i = 0; i < owned_count; i++) {
        struct modifier modifier = rules->modifier[owned[i]];
        if (modifier.per == PER_MONEY) {
            modifier.amount *= money / modifier.step;
            modifier.per = PER_PLAY;
            add_modifier(worth, &modifier);
        } else
            add_modifier(worth, &rules->modifier[owned[i]]);
    }
}

/* A play as far as its cards decide it. */
struct parts {
    int32_t base, mult; /* what the scored cards add */
    uint8_t type, count, kickers;
};

static struct parts parts_of(const struct worth *worth, const uint8_t *faces, int n)
{
    struct hand_value value = classify(worth->rules, faces, n);
    struct parts parts = {0, 0, (uint8_t)value.type, (uint8_t)n, (uint8_t)(n - __builtin_popcount(value.scored))};
    for (int i = 0; i < n; i++)
        if (value.scored >> i & 1) {
            parts.base += worth->face_base[faces[i]];
            parts.mult += worth->face_mult[faces[i]];
        }
    for (int m = 0; m < worth->conditional_count; m++) {
        const struct modifier *modifier = worth->conditional[m];
        if (modifier->last_play || !(modifier->hands >> value.type & 1) || n > modifier->max_cards)
            continue; /* those of the last play are left out: seldom, and only an under-estimate */
        for (int i = 0; i < n; i++)
            if (value.scored >> i & 1 & (int)(modifier->faces >> faces[i] & 1))
                *(modifier->effect == ADD_BASE ? &parts.base : &parts.mult) += modifier->amount;
    }
    return parts;
}

static inline int64_t points_of(const struct worth *worth, const struct parts *parts, int made, int left)
{
    const struct linear *l = &worth->linear[made == worth->plays - 1][parts->type][parts->count];
    int64_t base = parts->base + l->base + l->base_kicker * parts->kickers + l->base_made * made + l->base_left * left;
    int64_t mult = parts->mult + l->mult + l->mult_kicker * parts->kickers + l->mult_made * made + l->mult_left * left;
    return base * mult * l->factor;
}

#endif
