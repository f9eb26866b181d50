/* One round, solved: which plays to make when the draw order is known.
 *
 * The cards of the round are places 0, 1, ... in its draw order, sets of them bits. A line is a list of hands
 * to make, in order; `walk` plays it out: discard cards that no hand of the line needs until the next hand is
 * complete, then play it, filled up with such cards. A beam over lines adds one hand at a time. */
#ifndef POKER_ROUND_H
#define POKER_ROUND_H
#include "worth.h"

enum { MOST_PLAYS = 16, MOST_WIDTH = 64, MOST_HANDS = 160 };

struct deal {
    int count, reach; /* cards in the pile; places that a play can still use */
    uint8_t face[DECK], card[DECK];
    uint64_t rank[RANKS], suit[4];
};

struct hand {
    uint64_t cards;
    struct parts parts;
    int64_t points; /* as the play it would be if appended, for sorting */
};

struct line {
    int count;
    int64_t points;
    uint64_t used;
    struct hand hands[MOST_PLAYS];
};

struct solution {
    struct line best[MOST_PLAYS + 1]; /* by number of plays; count is 0 where there is none */
};

struct effort {
    int width;    /* lines kept */
    int children; /* hands tried per line */
    int64_t nodes; /* lines expanded so far: the measure of work */
    struct memo *memo; /* rounds solved before (plan.h) */
};

static void lay_out(struct deal *deal, const struct ruleset *rules, const uint8_t *order, const uint8_t *face,
                    uint64_t deck)
{
    memset(deal, 0, sizeof *deal);
    int reach = rules->hand_size + MOST_CARDS * (rules->discards + rules->plays - 1);
    for (int i = 0; i < DECK && deal->count < reach; i++) {
        int card = order[i];
        if (!(deck >> card & 1))
            continue;
        int place = deal->count++;
        deal->card[place] = (uint8_t)card;
        deal->face[place] = face[card];
        deal->rank[rank_of(face[card])] |= 1ull << place;
        deal->suit[face[card] / RANKS] |= 1ull << place;
    }
}

static inline uint64_t below(int place) { return place >= 64 ? ~0ull : (1ull << place) - 1; }
static inline int last_place(uint64_t set) { return 63 - __builtin_clzll(set); }

static int faces_of(const struct deal *deal, uint64_t set, uint8_t *faces)
{
    int n = 0;
    for (; set; set &= set - 1)
        faces[n++] = deal->face[__builtin_ctzll(set)];
    return n;
}

/* One step of a walk, for those who want to see it: cards as places. */
typedef void step(void *context, enum kind kind, uint64_t cards);

/* The points of a line, or -1 if its hands cannot be had in this order. */
static int64_t walk(const struct deal *deal, const struct worth *worth, const struct line *line, step *tell,
                    void *context)
{
    const struct ruleset *rules = worth->rules;
    int next = rules->hand_size < deal->count ? rules->hand_size : deal->count, left = rules->discards;
    uint64_t held = below(next), need = line->used;
    int64_t points = 0;
    for (int i = 0; i < line->count; i++) {
        const struct hand *hand = &line->hands[i];
        while (hand->cards & ~held) {
            uint64_t spare = held & ~need, out = 0;
            if (!spare || !left || next == deal->count)
                return -1;
            int n = 0;
            for (; spare && n < MOST_CARDS; n++, spare &= spare - 1)
                out |= spare & -spare;
            left--;
            held &= ~out;
            if (tell)
                tell(context, DISCARD, out);
            for (; n && next < deal->count; n--)
                held |= 1ull << next++;
        }
        need &= ~hand->cards;
        uint64_t played = hand->cards, spare = held & ~need & ~hand->cards;
        struct parts parts = hand->parts;
        int n = parts.count;
        if (n < MOST_CARDS && spare) {
            /* Cards that nobody needs leave with the play, if that costs nothing. */
            for (; spare && n < MOST_CARDS; n++, spare &= spare - 1)
                played |= spare & -spare;
            uint8_t faces[MOST_CARDS];
            faces_of(deal, played, faces);
            parts = parts_of(worth, faces, n);
            if (points_of(worth, &parts, i, left) < points_of(worth, &hand->parts, i, left)) {
                parts = hand->parts;
                played = hand->cards;
                n = parts.count;
            }
        }
        points += points_of(worth, &parts, i, left);
        held &= ~played;
        if (tell)
            tell(context, PLAY, played);
        if (i + 1 < rules->plays)
            for (; n && next < deal->count; n--)
                held |= 1ull << next++;
    }
    return points;
}

/* ---- hands that could be made */

struct hands {
    int count;
    struct hand list[MOST_HANDS];
};

static void offer(struct hands *hands, const struct deal *deal, const struct worth *worth, uint64_t cards, int made)
{
    if (hands->count == MOST_HANDS)
        return;
    struct hand *hand = &hands->list[hands->count];
    uint8_t faces[MOST_CARDS];
    int n = faces_of(deal, cards, faces);
    hand->cards = cards;
    hand->parts = parts_of(worth, faces, n);
    hand->points = points_of(worth, &hand->parts, made, 1);
    hands->count++;
}

/* The first n places of a set. */
static uint64_t first_of(uint64_t set, int n)
{
    uint64_t first = 0;
    for (; n && set; n--, set &= set - 1)
        first |= set & -set;
    return n ? 0 : first;
}

/* The n places of a set whose cards weigh most; earlier ones where they weigh the same. */
static uint64_t heaviest_of(uint64_t set, int n, const int32_t *weight)
{
    uint64_t chosen = 0;
    for (; n; n--) {
        int best = -1;
        int32_t most = -1;
        for (uint64_t rest = set & ~chosen; rest; rest &= rest - 1) {
            int place = __builtin_ctzll(rest);
            if (weight[place] > most)
                most = weight[best = place];
        }
        if (best < 0)
            return 0;
        chosen |= 1ull << best;
    }
    return chosen;
}

static const uint16_t runs[10] = {0x100F, 0x1F, 0x3E, 0x7C, 0xF8, 0x1F0, 0x3E0, 0x7C0, 0xF80, 0x1F00};

static void offer_straights(struct hands *hands, const struct deal *deal, const struct worth *worth,
                            uint64_t open, int made, const int32_t *weight, int flat)
{
    uint16_t present = 0;
    for (int r = 0; r < RANKS; r++)
        present |= (uint16_t)((deal->rank[r] & open) != 0) << r;
    for (int i = 0; i < 10; i++) {
        if ((present & runs[i]) != runs[i])
            continue;
        uint64_t first = 0, heavy = 0;
        for (uint32_t ranks = runs[i]; ranks; ranks &= ranks - 1) {
            uint64_t set = deal->rank[__builtin_ctz(ranks)] & open;
            first |= set & -set;
            if (!flat)
                heavy |= heaviest_of(set, 1, weight);
        }
        offer(hands, deal, worth, first, made);
        if (!flat)
            offer(hands, deal, worth, heavy, made);
    }
    for (int s = 0; s < 4; s++) {
        uint16_t suited = 0;
        for (uint64_t set = deal->suit[s] & open; set; set &= set - 1)
            suited |= (uint16_t)(1 << rank_of(deal->face[__builtin_ctzll(set)]));
        if (__builtin_popcount(suited) < 5)
            continue;
        for (int i = 0; i < 10; i++)
            if ((suited & runs[i]) == runs[i]) {
                uint64_t cards = 0;
                for (uint32_t ranks = runs[i]; ranks; ranks &= ranks - 1) {
                    uint64_t set = deal->rank[__builtin_ctz(ranks)] & deal->suit[s] & open;
                    cards |= set & -set;
                }
                offer(hands, deal, worth, cards, made);
            }
    }
}

static void offer_flushes(struct hands *hands, const struct deal *deal, const struct worth *worth, uint64_t open,
                          int made, const int32_t *weight)
{
    for (int s = 0; s < 4; s++) {
        uint64_t set = deal->suit[s] & open, first = first_of(set, 5);
        if (!first)
            continue;
        offer(hands, deal, worth, first, made);
        int start = last_place(first) + 1;
        for (int stop = start + 6; stop < deal->count + 12; stop += 12)
            if (set & below(stop) & ~first)
                offer(hands, deal, worth, heaviest_of(set & below(stop), 5, weight), made);
        /* A full house or five of a kind within the suit needs copies. */
        for (int r = 0; r < RANKS; r++) {
            uint64_t three = first_of(set & deal->rank[r], 3);
            if (!three)
                continue;
            uint64_t five = first_of(set & deal->rank[r], 5);
            if (five)
                offer(hands, deal, worth, five, made);
            for (int q = 0; q < RANKS; q++) {
                uint64_t two = q != r ? first_of(set & deal->rank[q], 2) : 0;
                if (two)
                    offer(hands, deal, worth, three | two, made);
            }
        }
    }
}

static void offer_equals(struct hands *hands, const struct deal *deal, const struct worth *worth, uint64_t open,
                         int made, const int32_t *weight)
{
    uint64_t pairs[RANKS], threes[RANKS];
    int pair_count = 0, three_count = 0;
    for (int r = RANKS - 1; r >= 0; r--) {
        uint64_t set = deal->rank[r] & open;
        int n = __builtin_popcountll(set);
        if (n < 2)
            continue;
        pairs[pair_count++] = first_of(set, 2);
        if (n >= 3)
            offer(hands, deal, worth, threes[three_count++] = first_of(set, 3), made);
        if (n >= 4) {
            offer(hands, deal, worth, first_of(set, 4), made);
            offer(hands, deal, worth, heaviest_of(set, 4, weight), made);
        }
        if (n >= 5)
            offer(hands, deal, worth, first_of(set, 5), made);
    }
    for (int i = 0; i < pair_count && i < 3; i++)
        offer(hands, deal, worth, pairs[i], made);
    for (int i = 0; i < three_count; i++) {
        uint64_t early = 0;
        for (int j = 0; j < pair_count; j++)
            if (!(pairs[j] & threes[i])) {
                if (!early || last_place(pairs[j]) < last_place(early))
                    early = pairs[j];
            }
        for (int j = 0, n = 0; j < pair_count && n < 2; j++)
            if (!(pairs[j] & threes[i]) && ++n)
                offer(hands, deal, worth, threes[i] | pairs[j], made);
        if (early)
            offer(hands, deal, worth, threes[i] | early, made);
    }
    if (pair_count > 1)
        offer(hands, deal, worth, pairs[0] | pairs[1], made);
}

/* Move the best hand from `at` on to `at`: the most points, of equal ones the one that is complete first.
 * Copies of the hand before it are passed over. Returns 0 when there is none left. */
static int best_first(struct hands *hands, int at)
{
    int best = -1;
    for (int i = at; i < hands->count; i++) {
        const struct hand *a = &hands->list[i];
        if (at && a->cards == hands->list[at - 1].cards)
            continue;
        const struct hand *b = &hands->list[best < 0 ? i : best];
        if (best < 0 || a->points > b->points ||
            (a->points == b->points && last_place(a->cards) < last_place(b->cards)))
            best = i;
    }
    if (best < 0)
        return 0;
    struct hand hand = hands->list[best];
    hands->list[best] = hands->list[at];
    hands->list[at] = hand;
    return 1;
}

/* ---- the beam */

static void keep(struct line *lines, int *count, int width, const struct line *line)
{
    int at = *count;
    for (int i = 0; i < *count; i++)
        if (lines[i].used == line->used && lines[i].points == line->points)
            return;
    while (at > 0 && lines[at - 1].points < line->points)
        at--;
    if (at == width)
        return;
    int last = *count < width ? (*count)++ : width - 1;
    memmove(&lines[at + 1], &lines[at], sizeof *lines * (size_t)(last - at));
    lines[at] = *line;
}

/* Put a hand into a line at the place where its last card comes, and where that is not the end also there. */
static int extend(const struct deal *deal, const struct worth *worth, const struct line *line,
                  const struct hand *hand, struct line *lines, int *count, int width)
{
    int natural = line->count, last = last_place(hand->cards), possible = 0;
    while (natural > 0 && last_place(line->hands[natural - 1].cards) > last)
        natural--;
    for (int at = natural;; at = line->count) {
        struct line longer = *line;
        memmove(&longer.hands[at + 1], &longer.hands[at], sizeof *hand * (size_t)(line->count - at));
        longer.hands[at] = *hand;
        longer.count++;
        longer.used |= hand->cards;
        longer.points = walk(deal, worth, &longer, 0, 0);
        if (longer.points >= 0) {
            keep(lines, count, width, &longer);
            possible = 1;
        }
        if (at == line->count)
            return possible;
    }
}

/* The best lines by number of plays. Stops as soon as `enough` points are had, with at least `least` plays. */
static void solve(const struct deal *deal, const struct worth *worth, int64_t enough, int least,
                  struct effort *effort, struct solution *solution)
{
    static _Thread_local struct line beams[2][MOST_WIDTH + 1];
    static _Thread_local struct hands hands;
    int counts[2] = {1, 0};
    int32_t weight[DECK];
    int flat = !worth->conditional_count;
    for (int place = 0; place < deal->count; place++) {
        int face = deal->face[place];
        /* what the card adds to a typical play, in points over points */
        weight[place] = worth->face_base[face] * 3 + worth->face_mult[face] * 16;
        flat &= worth->face_mult[face] == worth->face_mult[face % RANKS] &&
                worth->face_base[face] == worth->face_base[face % RANKS];
    }
    beams[0][0].count = 0;
    beams[0][0].points = 0;
    beams[0][0].used = 0;
    for (int made = 0; made < worth->plays; made++) {
        struct line *from = beams[made & 1], *to = beams[(made & 1) ^ 1];
        int *count = &counts[(made & 1) ^ 1];
        *count = 0;
        solution->best[made + 1].count = 0;
        for (int i = 0; i < counts[made & 1]; i++) {
            uint64_t open = below(deal->count) & ~from[i].used;
            hands.count = 0;
            offer_straights(&hands, deal, worth, open, made, weight, flat);
            offer_flushes(&hands, deal, worth, open, made, weight);
            offer_equals(&hands, deal, worth, open, made, weight);
            if (hands.count < 8 && open)
                offer(&hands, deal, worth, open & -open, made);
            for (int h = 0, had = 0; had < effort->children && best_first(&hands, h); h++)
                had += extend(deal, worth, &from[i], &hands.list[h], to, count, effort->width);
            effort->nodes++;
        }
        if (!*count) {
            for (int k = made + 1; k <= worth->plays; k++)
                solution->best[k].count = 0;
            return;
        }
        solution->best[made + 1] = to[0];
        if (to[0].points >= enough && made + 1 >= least) {
            for (int k = made + 2; k <= worth->plays; k++)
                solution->best[k].count = 0;
            return;
        }
    }
}

#endif
