/* A plan for a whole run: what to buy in each shop, and in which rounds to play on past the target for
 * points. What a plan is worth is found by playing it. */
#ifndef POKER_PLAN_H
#define POKER_PLAN_H
#include "round.h"

enum { MOST_ITEMS = 24 };

/* Something to buy. It is passed over where the money or the rules do not allow it. */
struct item {
    uint8_t kind, card, which, place; /* place: of an offer in the queue */
};

struct plan {
    uint8_t counts[MOST_ROUNDS];
    struct item items[MOST_ROUNDS][MOST_ITEMS]; /* by shop */
    uint8_t plays[MOST_ROUNDS];                 /* by round: plays to make at least, target or not */
};

/* Where a run stands before a round. */
struct stand {
    int64_t total;
    uint64_t deck;
    int32_t money, owned_count;
    int32_t levels[TYPES];
    uint8_t owned[MOST_OWNED], face[DECK];
};

struct course {
    struct stand before[MOST_ROUNDS + 1];
    struct line lines[MOST_ROUNDS]; /* what is played in each round */
    int reached;                    /* rounds played */
    int64_t total;
};

static void first_stand(struct stand *stand, const struct ruleset *rules)
{
    memset(stand, 0, sizeof *stand);
    stand->deck = (1ull << DECK) - 1;
    stand->money = rules->start;
    for (int t = 0; t < TYPES; t++)
        stand->levels[t] = 1;
    for (int card = 0; card < DECK; card++)
        stand->face[card] = (uint8_t)card;
}

/* The line to play: the fewest plays that reach the target, but at least as many as wanted; else the most
 * points. */
static const struct line *choose(const struct solution *solution, const struct ruleset *rules, int64_t target,
                                 int wanted)
{
    const struct line *best = 0;
    int cleared = 0;
    for (int n = 1; n <= rules->plays; n++) {
        const struct line *line = &solution->best[n];
        if (!line->count || (best && line->points <= best->points) || (cleared && best->count >= wanted))
            continue;
        best = line;
        cleared = line->points >= target;
    }
    return best;
}

/* Tell a shop move to somebody. */
typedef void bought(void *context, enum kind kind, int card, int which);

static void shop_item(struct stand *stand, const struct ruleset *rules, const struct item *item, bought *tell,
                      void *context)
{
    int price = item->kind == LEVEL     ? rules->level
                : item->kind == PAINT   ? rules->paint
                : item->kind == PROMOTE ? rules->promote
                                        : rules->remove;
    uint8_t *face = &stand->face[item->card];
    if (price > stand->money || (item->kind != LEVEL && !(stand->deck >> item->card & 1)))
        return;
    switch (item->kind) {
    case LEVEL: stand->levels[item->which]++; break;
    case PAINT:
        if (*face / RANKS == item->which)
            return;
        *face = (uint8_t)(item->which * RANKS + rank_of(*face));
        break;
    case PROMOTE:
        if (rank_of(*face) == RANKS - 1)
            return;
        ++*face;
        break;
    default: stand->deck &= ~(1ull << item->card);
    }
    stand->money -= price;
    if (tell)
        tell(context, item->kind, item->card, item->which);
}

static void visit_shop(struct stand *stand, const struct ruleset *rules, const struct item *items, int count,
                       bought *tell, void *context)
{
    int window = 0;
    for (int start = 0; start < rules->queue; start += rules->window)
        for (int i = 0; i < count; i++) {
            const struct item *item = &items[i];
            if (item->kind != BUY || item->place < start || item->place >= start + rules->window)
                continue;
            int price = rules->modifier[item->which].price + (start - window) / rules->window * rules->reroll;
            int owned = stand->owned_count >= rules->max_modifiers;
            for (int m = 0; m < stand->owned_count; m++)
                owned |= stand->owned[m] == item->which;
            if (owned || price > stand->money)
                continue;
            for (; tell && window < start; window += rules->window)
                tell(context, REROLL, 0, 0);
            window = start;
            stand->money -= price;
            stand->owned[stand->owned_count++] = item->which;
            if (tell)
                tell(context, BUY, 0, item->which);
        }
    for (int i = 0; i < count; i++)
        if (items[i].kind != BUY)
            shop_item(stand, rules, &items[i], tell, context);
    if (stand->money >= rules->next)
        stand->money -= rules->next;
}

/* Rounds that were solved before: the same cards, levels and modifiers come back again and again. */
enum { MEMO = 1 << 13 };

struct memo {
    uint64_t key;
    struct line line;
};

static uint64_t key_of(const struct stand *now, int round, int wanted, const struct ruleset *rules)
{
    uint64_t key = 0x9E3779B97F4A7C15ull, owned = 0, words[(DECK + 7) / 8] = {0};
    int money = 0;
    for (int i = 0; i < now->owned_count; i++) {
        owned |= 1ull << now->owned[i];
        if (rules->modifier[now->owned[i]].per == PER_MONEY)
            money = now->money;
    }
    memcpy(words, now->face, DECK);
    uint64_t parts[3 + TYPES / 2 + (DECK + 7) / 8] = {owned, now->deck};
    parts[2] = (uint64_t)money << 32 | (uint32_t)round << 8 | (uint32_t)wanted;
    memcpy(parts + 3, now->levels, sizeof now->levels);
    memcpy(parts + 3 + TYPES / 2, words, sizeof words);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        key = (key ^ parts[i]) * 0xD6E8FEB86659FD93ull;
        key ^= key >> 32;
    }
    return key | 1;
}

static void play_round(struct course *course, int round, const struct ruleset *rules, const struct game *game,
                       int wanted, struct effort *effort)
{
    struct stand *now = &course->before[round];
    uint64_t key = key_of(now, round, wanted, rules);
    struct memo *memo = &effort->memo[key % MEMO];
    if (memo->key != key) {
        struct worth worth;
        struct deal deal;
        struct solution solution;
        tabulate(&worth, rules, now->levels, now->owned, now->owned_count, now->money);
        lay_out(&deal, rules, game->orders[round], now->face, now->deck);
        solve(&deal, &worth, rules->targets[round], wanted, effort, &solution);
        const struct line *line = choose(&solution, rules, rules->targets[round], wanted);
        memo->key = key;
        memo->line.count = 0;
        memo->line.points = 0;
        if (line)
            memo->line = *line;
    } else
        effort->nodes++;
    course->lines[round] = memo->line;
}

/* A cleared round's pay, and the shop after it: how things stand before the next round. */
static void leave_round(struct course *course, int round, const struct plan *plan, const struct ruleset *rules)
{
    const struct stand *now = &course->before[round];
    struct stand *then = &course->before[round + 1];
    int interest = now->money / rules->interest_step;
    *then = *now;
    then->total += course->lines[round].points;
    then->money += rules->clear + rules->unused_play * (rules->plays - course->lines[round].count);
    then->money += interest < rules->interest_max ? interest : rules->interest_max;
    visit_shop(then, rules, plan->items[round], plan->counts[round], 0, 0);
}

/* Play a plan from a round on, which the course has reached; what it holds of later rounds is overwritten. */
static void follow(struct course *course, const struct plan *plan, int from, const struct ruleset *rules,
                   const struct game *game, struct effort *effort)
{
    for (int round = from; round < rules->rounds; round++) {
        play_round(course, round, rules, game, plan->plays[round], effort);
        course->reached = round + 1;
        course->total = course->before[round].total + course->lines[round].points;
        if (course->lines[round].points < rules->targets[round] || round == rules->rounds - 1)
            return;
        leave_round(course, round, plan, rules);
    }
}

#endif
