/* planner: a local search over plans. A plan is changed a little, played from there on, and kept when that is
 * better, or, with a chance that falls, when it is a little worse. All is bounded by work, not by time, so
 * that a case always gets the same moves. */
#include "plan.h"

enum { MOST_MOVES = 1024 };
enum {
    STARTS = 4,       /* searches from nothing, for what a plan can reach is settled early; */
    FIRST_SHARE = 60, /* the share of the work that goes into them, in percent; */
    STEPS = 2,        /* the rest goes into the best plan so far, taken up this often */
    WIDTH = 4,        /* of the beam over a round's lines */
    CHILDREN = 6,
};
/* Temperatures at which a search starts, as shares of the points; they fall to 0. */
static const double first_heat = 0.05, later_heat = 0.03;

struct search {
    const struct ruleset *rules;
    const struct game *game;
    uint64_t random;
    struct effort effort;
    struct plan plan, best_plan;
    struct course course, best;
    struct course trial;
};

static uint32_t below_n(struct search *s, uint32_t n)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)((s->random >> 32) * n >> 32);
}

/* An exponential number of mean about 1, by sums and products alone, so that it is the same everywhere. */
static double exponential(struct search *s)
{
    uint32_t number = below_n(s, 1u << 30), fraction = below_n(s, 1u << 16);
    int zeros = number ? __builtin_clz(number) - 2 : 30;
    return 0.693 * (zeros + fraction / 65536.0);
}

static int add_item(struct plan *plan, int shop, struct item item, uint32_t at)
{
    int count = plan->counts[shop];
    if (count == MOST_ITEMS)
        return 0;
    if ((int)at > count)
        at = (uint32_t)count;
    memmove(&plan->items[shop][at + 1], &plan->items[shop][at], sizeof item * (size_t)(count - (int)at));
    plan->items[shop][at] = item;
    plan->counts[shop]++;
    return 1;
}

static struct item take_item(struct plan *plan, int shop, int at)
{
    struct item item = plan->items[shop][at];
    plan->counts[shop]--;
    memmove(&plan->items[shop][at], &plan->items[shop][at + 1], sizeof item * (size_t)(plan->counts[shop] - at));
    return item;
}

static int random_item(struct search *s, const struct plan *plan, int *shop)
{
    int shops = s->rules->rounds - 1, total = 0;
    for (int i = 0; i < shops; i++)
        total += plan->counts[i];
    if (!total)
        return -1;
    int at = (int)below_n(s, (uint32_t)total);
    for (*shop = 0; at >= plan->counts[*shop]; ++*shop)
        at -= plan->counts[*shop];
    return at;
}

/* A type that the present course plays, late rounds first. */
static int used_type(struct search *s)
{
    int round = s->course.reached - 1 - (int)below_n(s, 3);
    if (round < 0 || !s->course.lines[round].count)
        return (int)below_n(s, TYPES);
    return s->course.lines[round].hands[below_n(s, (uint32_t)s->course.lines[round].count)].parts.type;
}

static struct item random_new(struct search *s, int shop)
{
    struct item item = {0, 0, 0, 0};
    const struct ruleset *rules = s->rules;
    uint32_t pick = below_n(s, 100);
    if (pick < 50 && rules->queue) {
        item.kind = BUY;
        item.place = (uint8_t)below_n(s, (uint32_t)rules->queue);
        item.which = s->game->queues[shop][item.place];
    } else if (pick < 85) {
        item.kind = LEVEL;
        item.which = (uint8_t)(below_n(s, 8) ? used_type(s) : (int)below_n(s, TYPES));
    } else {
        uint32_t edit = below_n(s, 10);
        item.kind = edit < 5 ? PAINT : edit < 8 ? PROMOTE : REMOVE;
        item.card = (uint8_t)below_n(s, DECK);
        item.which = (uint8_t)below_n(s, 4);
    }
    return item;
}

/* Paint what is odd in a hand that is played, or in five cards around it, so that it becomes a flush. */
static int paint_hand(struct search *s, struct plan *plan, int shop)
{
    int last = s->course.reached - 1;
    if (last <= shop)
        return 0;
    int round = shop + 1 + (int)below_n(s, (uint32_t)(last - shop));
    const struct line *line = &s->course.lines[round];
    if (!line->count)
        return 0;
    const struct hand *hand = &line->hands[below_n(s, (uint32_t)line->count)];
    struct deal deal;
    const struct stand *now = &s->course.before[round];
    lay_out(&deal, s->rules, s->game->orders[round], now->face, now->deck);
    int counts[4] = {0}, suit = 0, done = 0;
    for (uint64_t set = hand->cards; set; set &= set - 1)
        counts[deal.face[__builtin_ctzll(set)] / RANKS]++;
    for (int i = 1; i < 4; i++)
        if (counts[i] > counts[suit])
            suit = i;
    for (uint64_t set = hand->cards; set; set &= set - 1) {
        int place = __builtin_ctzll(set);
        if (deal.face[place] / RANKS != suit)
            done |= add_item(plan, shop, (struct item){PAINT, deal.card[place], (uint8_t)suit, 0}, MOST_ITEMS);
    }
    return done;
}

/* Change a plan at random. Returns the first round whose play it can change, or -1 if nothing was changed. */
static int change(struct search *s, struct plan *plan)
{
    const struct ruleset *rules = s->rules;
    int shops = rules->rounds - 1, live = s->course.reached < shops ? s->course.reached : shops;
    int shop = (int)below_n(s, (uint32_t)live), from, at;
    uint32_t pick = below_n(s, 100);
    if (pick < 35) {
        add_item(plan, shop, random_new(s, shop), below_n(s, MOST_ITEMS));
        return shop + 1;
    }
    if (pick < 45)
        return paint_hand(s, plan, shop) ? shop + 1 : -1;
    if (pick < 53) {
        int round = (int)below_n(s, (uint32_t)rules->rounds);
        uint8_t plays = (uint8_t)(1 + below_n(s, (uint32_t)rules->plays));
        if (plays == plan->plays[round])
            return -1;
        plan->plays[round] = plays;
        return round;
    }
    at = random_item(s, plan, &from);
    if (at < 0)
        return -1;
    struct item item = take_item(plan, from, at);
    if (pick < 65)
        return from + 1;
    if (pick < 85) { /* another one in its place */
        add_item(plan, from, random_new(s, from), (uint32_t)at);
        return from + 1;
    }
    /* the same one elsewhere */
    if (item.kind == BUY) {
        int place = 0;
        while (place < rules->queue && s->game->queues[shop][place] != item.which)
            place++;
        if (place == rules->queue)
            return -1;
        item.place = (uint8_t)place;
    }
    add_item(plan, shop, item, below_n(s, MOST_ITEMS));
    return (shop < from ? shop : from) + 1;
}

/* Take up a plan that buys nothing. */
static void start_over(struct search *s)
{
    const struct ruleset *rules = s->rules;
    memset(&s->plan, 0, sizeof s->plan);
    for (int round = 0; round < rules->rounds; round++)
        s->plan.plays[round] = (uint8_t)(round < rules->rounds / 2 ? 1 : rules->plays);
    first_stand(&s->course.before[0], rules);
    follow(&s->course, &s->plan, 0, rules, s->game, &s->effort);
}

/* Play a changed plan from a round on: s->trial. Returns 0 where nothing changes. */
static int attempt(struct search *s, const struct plan *plan, int from)
{
    const struct ruleset *rules = s->rules;
    memcpy(s->trial.before, s->course.before, sizeof s->course.before[0] * (size_t)(from + 1));
    memcpy(s->trial.lines, s->course.lines, sizeof s->course.lines[0] * (size_t)from);
    if (from > 0) {
        leave_round(&s->trial, from - 1, plan, rules);
        if (!memcmp(&s->trial.before[from], &s->course.before[from], sizeof s->trial.before[0]) &&
            !memcmp(plan->items[from], s->plan.items[from], sizeof plan->items - (size_t)from * sizeof plan->items[0]))
            return 0;
    }
    follow(&s->trial, plan, from, rules, s->game, &s->effort);
    return 1;
}

/* Annealing from the present plan, up to `work`. */
static void anneal(struct search *s, int64_t work, double heat)
{
    int64_t start = s->effort.nodes;
    while (s->effort.nodes < work) {
        double left = 1 - (double)(s->effort.nodes - start) / (double)(work - start);
        struct plan plan = s->plan;
        int from = change(s, &plan);
        if (from < 0 || from >= s->course.reached || !attempt(s, &plan, from)) {
            s->effort.nodes++;
            continue;
        }
        /* As in annealing on the logarithm of the points: a loss by the factor 1 + x passes with chance
         * exp(-x / heat). */
        if (s->trial.total < s->course.total &&
            (double)s->trial.total * (1 + heat * left * left * exponential(s)) < (double)s->course.total)
            continue;
        s->plan = plan;
        s->course = s->trial;
        if (s->course.total > s->best.total) {
            s->best = s->course;
            s->best_plan = s->plan;
        }
    }
}

static void search(struct search *s, int64_t work)
{
    int64_t first = work * FIRST_SHARE / 100;
    for (int start = 0; start < STARTS; start++) {
        start_over(s);
        if (s->course.total > s->best.total || !start) {
            s->best = s->course;
            s->best_plan = s->plan;
        }
        anneal(s, first * (start + 1) / STARTS, first_heat);
    }
    for (int turn = 0; turn < STEPS; turn++) {
        s->plan = s->best_plan;
        s->course = s->best;
        anneal(s, first + (work - first) * (turn + 1) / STEPS, later_heat);
    }
}

/* ---- moves */

struct writer {
    struct run run;
    const struct deal *deal;
    struct move *moves;
    int count, wrong;
};

static void write_move(struct writer *writer, const struct move *move)
{
    if (writer->wrong || writer->count == MOST_MOVES || apply(&writer->run, move) != LEGAL) {
        writer->wrong = 1;
        return;
    }
    writer->moves[writer->count++] = *move;
}

static void write_cards(void *context, enum kind kind, uint64_t cards)
{
    struct writer *writer = context;
    struct move move = {.kind = (uint8_t)kind};
    for (; cards; cards &= cards - 1)
        move.cards[move.count++] = writer->deal->card[__builtin_ctzll(cards)];
    write_move(writer, &move);
}

static void write_shop(void *context, enum kind kind, int card, int which)
{
    struct move move = {.kind = (uint8_t)kind, .which = (uint8_t)which};
    if (kind == PAINT || kind == PROMOTE || kind == REMOVE)
        move.count = 1, move.cards[0] = (uint8_t)card;
    write_move(context, &move);
}

/* The moves of the best course; *total is what they really score. */
static int write_course(const struct search *s, struct move *moves, int64_t *total)
{
    const struct ruleset *rules = s->rules;
    struct writer writer = {.moves = moves};
    start_run(&writer.run, rules, s->game, 0);
    for (int round = 0; round < s->best.reached && writer.run.phase == IN_ROUND; round++) {
        const struct stand *now = &s->best.before[round];
        struct worth worth;
        struct deal deal;
        tabulate(&worth, rules, now->levels, now->owned, now->owned_count, now->money);
        lay_out(&deal, rules, s->game->orders[round], now->face, now->deck);
        writer.deal = &deal;
        walk(&deal, &worth, &s->best.lines[round], write_cards, &writer);
        if (writer.run.phase == IN_ROUND)
            write_move(&writer, &(struct move){.kind = END});
        if (writer.run.phase != IN_SHOP)
            break;
        struct stand shopping = *now;
        shopping.money = writer.run.money;
        visit_shop(&shopping, rules, s->best_plan.items[round], s->best_plan.counts[round], write_shop, &writer);
        write_move(&writer, &(struct move){.kind = NEXT});
    }
    *total = writer.run.total;
    return writer.count;
}

/* Play n cases: moves of case i go to moves[i * 1024], their number to counts[i]. Returns the number of cases whose moves
 * do not score what the search thought. */
int64_t poker_play(const struct ruleset *rules, const struct game *games, int64_t n, int64_t work,
                struct move *moves, int32_t *counts)
{
    static struct search s;
    static struct memo memo[MEMO];
    int64_t surprises = 0, total;
    for (int64_t i = 0; i < n; i++) {
        memset(&s, 0, sizeof s);
        s.rules = rules;
        s.game = &games[i];
        s.random = 0x9E3779B97F4A7C15ull;
        memset(memo, 0, sizeof memo);
        s.effort = (struct effort){.width = WIDTH, .children = CHILDREN, .memo = memo};
        search(&s, work);
        counts[i] = write_course(&s, &moves[i * MOST_MOVES], &total);
        surprises += total != s.best.total;
    }
    return surprises;
}
