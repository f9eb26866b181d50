/* The rules in C: the state of a run, scoring, and every move. rules.py and hands.py are the readable ones;
 * names and order of checks are theirs. Structures that Python fills or reads are mirrored in kernel.py. */
#ifndef POKER_RULES_H
#define POKER_RULES_H
#include <stdint.h>
#include <string.h>

enum { RANKS = 13, DECK = 52, TYPES = 12, MOST_CARDS = 5, MOST_ROUNDS = 16, MOST_OFFERS = 32, MOST_OWNED = 16 };
enum { PATTERNS = 7 };
enum kind { PLAY, DISCARD, END, BUY, LEVEL, PAINT, PROMOTE, REMOVE, REROLL, NEXT, KINDS };
enum status { LEGAL, UNPARSABLE, ILLEGAL, UNAFFORDABLE };
enum phase { IN_ROUND, IN_SHOP, OVER };
enum scored { HIGHEST, REPEATED, ALL };
enum effect { ADD_BASE, ADD_MULT, TIMES };
enum per { PER_PLAY, PER_SCORED, PER_KICKER, PER_PLAY_MADE, PER_DISCARD_LEFT, PER_MONEY };

struct modifier {
    int32_t price, effect, amount, per;
    int32_t max_cards; /* 5 where there is no limit */
    int32_t last_play, step;
    uint32_t hands; /* bit by type */
    uint64_t faces; /* bit by face: the cards that per scored counts */
};

struct ruleset {
    int32_t rounds, hand_size, plays, discards, max_modifiers, queue;
    int32_t targets[MOST_ROUNDS];
    int32_t chips[RANKS];
    int32_t start, clear, unused_play, interest_step, interest_max;
    int32_t window, level, paint, promote, remove, reroll, next;
    int32_t base[TYPES], mult[TYPES], base_step[TYPES], mult_step[TYPES], scored[TYPES];
    int32_t type[PATTERNS][2][2]; /* by pattern of equal ranks, straight, flush */
    int32_t modifiers;
    struct modifier modifier[MOST_OFFERS];
};

struct game {
    uint8_t orders[MOST_ROUNDS][DECK];
    uint8_t queues[MOST_ROUNDS][MOST_OFFERS];
};

struct move {
    uint8_t kind;
    uint8_t count; /* of cards */
    uint8_t cards[MOST_CARDS];
    uint8_t which; /* modifier, hand type or suit */
};

struct round_end {
    int64_t points;
    int32_t plays, discards, cleared, money, earned, owned_count;
    uint8_t owned[MOST_OWNED];
    uint8_t types[MOST_ROUNDS];
    int32_t levels[TYPES];
};

struct run {
    const struct ruleset *rules;
    const struct game *game;
    int64_t total, points;
    uint64_t deck, hand, bought; /* bits by card, by card, by place in the queue */
    int32_t phase, round, pile, held; /* pile: place in the draw order of the next card to look at */
    int32_t plays_left, discards_left, money, cleared, ended, window, owned_count;
    uint8_t face[DECK]; /* suit * 13 + rank, as now */
    uint8_t owned[MOST_OWNED];
    uint8_t types[MOST_ROUNDS];
    int32_t levels[TYPES];
    struct round_end *ends; /* [rounds], or null */
};

struct hand_value {
    int32_t type, scored; /* scored: bits by position */
};

static inline int rank_of(int face) { return face % RANKS; }

/* The strongest type of n faces, and which of them score. */
static struct hand_value classify(const struct ruleset *rules, const uint8_t *faces, int n)
{
    uint32_t once = 0, twice = 0, thrice = 0, four = 0, five = 0;
    int flush = n == 5;
    for (int i = 0; i < n; i++) {
        uint32_t bit = 1u << rank_of(faces[i]);
        five |= four & bit, four |= thrice & bit, thrice |= twice & bit, twice |= once & bit, once |= bit;
        flush &= faces[i] / RANKS == faces[0] / RANKS;
    }
    int pattern = five ? 6 : four ? 5 : thrice ? 3 + (twice != thrice) : twice ? 1 + ((twice & (twice - 1)) != 0) : 0;
    int straight = n == 5 && !twice && (once == 0x100F || once >> __builtin_ctz(once) == 31);
    struct hand_value value = {rules->type[pattern][straight][flush], (1 << n) - 1};
    if (rules->scored[value.type] != ALL) {
        uint32_t wanted = rules->scored[value.type] == REPEATED ? twice : 1u << (31 - __builtin_clz(once));
        value.scored = 0;
        for (int i = 0; i < n; i++)
            if (wanted >> rank_of(faces[i]) & 1) {
                value.scored |= 1 << i;
                if (rules->scored[value.type] == HIGHEST)
                    break;
            }
    }
    return value;
}

struct situation {
    const int32_t *levels;
    const uint8_t *owned;
    int32_t owned_count, plays_made, discards_left, money;
};

static int64_t score(const struct ruleset *rules, const uint8_t *faces, int n, const struct situation *now, int *type)
{
    struct hand_value value = classify(rules, faces, n);
    int t = *type = value.type, kickers = n - __builtin_popcount(value.scored);
    int64_t base = rules->base[t] + (int64_t)(now->levels[t] - 1) * rules->base_step[t];
    int64_t mult = rules->mult[t] + (int64_t)(now->levels[t] - 1) * rules->mult_step[t];
    int64_t factor = 1;
    for (int i = 0; i < n; i++)
        if (value.scored >> i & 1)
            base += rules->chips[rank_of(faces[i])];
    for (int m = 0; m < now->owned_count; m++) {
        const struct modifier *modifier = &rules->modifier[now->owned[m]];
        if (!(modifier->hands >> t & 1) || n > modifier->max_cards ||
            (modifier->last_play && now->plays_made != rules->plays - 1))
            continue;
        int64_t count = 0;
        switch (modifier->per) {
        case PER_PLAY: count = 1; break;
        case PER_SCORED:
            for (int i = 0; i < n; i++)
                count += value.scored >> i & 1 & (int)(modifier->faces >> faces[i] & 1);
            break;
        case PER_KICKER: count = kickers; break;
        case PER_PLAY_MADE: count = now->plays_made; break;
        case PER_DISCARD_LEFT: count = now->discards_left; break;
        case PER_MONEY: count = now->money / modifier->step; break;
        }
        switch (modifier->effect) {
        case ADD_BASE: base += modifier->amount * count; break;
        case ADD_MULT: mult += modifier->amount * count; break;
        case TIMES: factor *= modifier->amount; break;
        }
    }
    return base * mult * factor;
}

static void draw(struct run *run)
{
    const uint8_t *order = run->game->orders[run->round];
    while (run->held < run->rules->hand_size && run->pile < DECK) {
        uint64_t bit = 1ull << order[run->pile++];
        if (run->deck & bit)
            run->hand |= bit, run->held++;
    }
}

static void note_round(const struct run *run, int cleared, int earned)
{
    if (!run->ends)
        return;
    struct round_end *end = &run->ends[run->round];
    memset(end, 0, sizeof *end);
    end->points = run->points;
    end->plays = run->rules->plays - run->plays_left;
    end->discards = run->rules->discards - run->discards_left;
    end->cleared = cleared;
    end->money = run->money;
    end->earned = earned;
    end->owned_count = run->owned_count;
    memcpy(end->owned, run->owned, sizeof end->owned);
    memcpy(end->types, run->types, sizeof end->types);
    memcpy(end->levels, run->levels, sizeof end->levels);
}

static void end_round(struct run *run)
{
    const struct ruleset *rules = run->rules;
    int cleared = run->points >= rules->targets[run->round], earned = 0;
    run->phase = OVER;
    if (cleared) {
        int interest = run->money / rules->interest_step;
        earned = rules->clear + rules->unused_play * run->plays_left;
        earned += interest < rules->interest_max ? interest : rules->interest_max;
        run->cleared++;
        if (run->round < rules->rounds - 1)
            run->phase = IN_SHOP;
    }
    note_round(run, cleared, earned);
    run->ended++;
    run->money += earned;
    run->window = 0;
    run->bought = 0;
}

static void start_round(struct run *run)
{
    run->phase = IN_ROUND;
    run->hand = 0;
    run->pile = run->held = 0;
    run->plays_left = run->rules->plays;
    run->discards_left = run->rules->discards;
    run->points = 0;
    memset(run->types, 0, sizeof run->types);
    draw(run);
    if (!run->held)
        end_round(run);
}

static void start_run(struct run *run, const struct ruleset *rules, const struct game *game, struct round_end *ends)
{
    memset(run, 0, sizeof *run);
    run->rules = rules;
    run->game = game;
    run->ends = ends;
    run->deck = (1ull << DECK) - 1;
    run->money = rules->start;
    for (int card = 0; card < DECK; card++)
        run->face[card] = (uint8_t)card;
    for (int t = 0; t < TYPES; t++)
        run->levels[t] = 1;
    start_round(run);
}

static int owns(const struct run *run, int modifier)
{
    for (int i = 0; i < run->owned_count; i++)
        if (run->owned[i] == modifier)
            return 1;
    return 0;
}

/* The place in the queue at which a modifier is offered now, or -1. */
static int offered_at(const struct run *run, int modifier)
{
    int stop = run->window + run->rules->window;
    for (int place = run->window; place < stop && place < run->rules->queue; place++)
        if (!(run->bought >> place & 1) && run->game->queues[run->round][place] == modifier)
            return place;
    return -1;
}

static int64_t play_points(const struct run *run, const uint8_t *cards, int n, int *type)
{
    uint8_t faces[MOST_CARDS];
    for (int i = 0; i < n; i++)
        faces[i] = run->face[cards[i]];
    struct situation now = {run->levels,      run->owned, run->owned_count, run->rules->plays - run->plays_left,
                            run->discards_left, run->money};
    return score(run->rules, faces, n, &now, type);
}

static enum status round_move(struct run *run, const struct move *move)
{
    if (move->kind == END) {
        if (run->points < run->rules->targets[run->round])
            return ILLEGAL;
        end_round(run);
        return LEGAL;
    }
    uint64_t cards = 0;
    if (move->count < 1 || move->count > MOST_CARDS)
        return ILLEGAL;
    for (int i = 0; i < move->count; i++)
        cards |= 1ull << move->cards[i];
    if ((cards & run->hand) != cards || __builtin_popcountll(cards) != move->count)
        return ILLEGAL;
    if (move->kind == PLAY) {
        int type;
        int64_t points = play_points(run, move->cards, move->count, &type);
        run->types[run->rules->plays - run->plays_left] = (uint8_t)type;
        run->points += points;
        run->total += points;
        run->plays_left--;
    } else if (!run->discards_left--) {
        run->discards_left = 0;
        return ILLEGAL;
    }
    run->hand &= ~cards;
    run->held -= move->count;
    if (run->plays_left)
        draw(run);
    if (!run->plays_left || !run->held)
        end_round(run);
    return LEGAL;
}

static enum status shop_move(struct run *run, const struct move *move)
{
    const struct ruleset *rules = run->rules;
    int price = 0, place = 0, card = move->cards[0];
    if (move->count && !(run->deck >> card & 1))
        return ILLEGAL;
    switch (move->kind) {
    case BUY:
        place = offered_at(run, move->which);
        if (place < 0 || owns(run, move->which) || run->owned_count >= rules->max_modifiers)
            return ILLEGAL;
        price = rules->modifier[move->which].price;
        break;
    case LEVEL: price = rules->level; break;
    case PAINT: price = rules->paint; break;
    case PROMOTE:
        if (rank_of(run->face[card]) == RANKS - 1)
            return ILLEGAL;
        price = rules->promote;
        break;
    case REMOVE: price = rules->remove; break;
    case REROLL:
        if (run->window + rules->window >= rules->queue)
            return ILLEGAL;
        price = rules->reroll;
        break;
    default: price = rules->next;
    }
    if (price > run->money)
        return UNAFFORDABLE;
    run->money -= price;
    switch (move->kind) {
    case BUY:
        run->bought |= 1ull << place;
        run->owned[run->owned_count++] = move->which;
        break;
    case LEVEL: run->levels[move->which]++; break;
    case PAINT: run->face[card] = (uint8_t)(move->which * RANKS + rank_of(run->face[card])); break;
    case PROMOTE: run->face[card]++; break;
    case REMOVE: run->deck &= ~(1ull << card); break;
    case REROLL: run->window += rules->window; break;
    default:
        run->round++;
        start_round(run);
    }
    return LEGAL;
}

/* Make a move; where it is not legal nothing has changed. */
static enum status apply(struct run *run, const struct move *move)
{
    int of_round = move->kind <= END;
    if (run->phase == OVER || of_round != (run->phase == IN_ROUND))
        return ILLEGAL;
    return of_round ? round_move(run, move) : shop_move(run, move);
}

#endif
