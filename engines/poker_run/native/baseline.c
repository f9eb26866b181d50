/* baseline: greedy, without a look at what comes. It plays what scores most now; while that would not reach
 * the target on average over the plays left, it throws away what does not fit its best start of a hand. In
 * the shop it buys offers in the order shown, then levels the hand type that it has played most. */
#include "rules.h"

enum { MOST_MOVES = 1024, MOST_HELD = 16 };

struct player {
    struct run run;
    struct move *moves;
    int count;
    int played[TYPES];
};

static int make(struct player *player, struct move move)
{
    if (player->count == MOST_MOVES || apply(&player->run, &move) != LEGAL)
        return 0;
    player->moves[player->count++] = move;
    return 1;
}

/* The play with the most points; of equal ones the one with the fewest cards. */
static int64_t best_play(const struct run *run, const uint8_t *held, int n, struct move *best, int *type)
{
    int64_t most = -1;
    for (int size = 1; size <= MOST_CARDS && size <= n; size++)
        for (uint32_t set = (1u << size) - 1; set < 1u << n;) {
            struct move move = {.kind = PLAY};
            int kind;
            for (uint32_t rest = set; rest; rest &= rest - 1)
                move.cards[move.count++] = held[__builtin_ctz(rest)];
            int64_t points = play_points(run, move.cards, move.count, &kind);
            if (points > most) {
                most = points;
                *best = move;
                *type = kind;
            }
            uint32_t low = set & -set, next = set + low; /* the next set of that size */
            set = ((next ^ set) >> 2) / low | next;
        }
    return most;
}

/* Cards that fit nothing: the four of a suit are kept, else the ranks held twice, else the two highest. */
static struct move worst_cards(const struct run *run, const uint8_t *held, int n)
{
    int ranks[RANKS] = {0}, suits[4] = {0}, suit = 0, pairs = 0, high = 0;
    for (int i = 0; i < n; i++) {
        pairs += ++ranks[rank_of(run->face[held[i]])] == 2;
        if (++suits[run->face[held[i]] / RANKS] > suits[suit])
            suit = run->face[held[i]] / RANKS;
    }
    struct move move = {.kind = DISCARD};
    for (int rank = 0; rank < RANKS && move.count < MOST_CARDS; rank++)
        for (int i = 0; i < n && move.count < MOST_CARDS; i++) {
            int face = run->face[held[i]];
            if (rank_of(face) != rank)
                continue;
            high = 0;
            for (int r = rank + 1; r < RANKS; r++)
                high += ranks[r];
            int fits = suits[suit] >= 4 ? face / RANKS == suit : pairs ? ranks[rank] >= 2 : high < 2;
            if (!fits)
                move.cards[move.count++] = held[i];
        }
    return move;
}

static void play_one_round(struct player *player)
{
    struct run *run = &player->run;
    int round = run->round;
    while (run->phase == IN_ROUND && run->round == round) {
        int64_t missing = run->rules->targets[round] - run->points;
        if (missing <= 0) {
            make(player, (struct move){.kind = END});
            return;
        }
        uint8_t held[MOST_HELD];
        int n = 0, type = 0;
        for (uint64_t hand = run->hand; hand; hand &= hand - 1)
            held[n++] = (uint8_t)__builtin_ctzll(hand);
        struct move play;
        int64_t points = best_play(run, held, n, &play, &type);
        if (run->discards_left && points * run->plays_left < missing) {
            struct move discard = worst_cards(run, held, n);
            if (discard.count && make(player, discard))
                continue;
        }
        player->played[type]++;
        if (!make(player, play))
            return;
    }
}

static void visit(struct player *player)
{
    struct run *run = &player->run;
    int favourite = 0;
    for (int t = 1; t < TYPES; t++)
        if (player->played[t] >= player->played[favourite])
            favourite = t;
    for (int place = 0; place < run->rules->window && place < run->rules->queue; place++)
        make(player, (struct move){.kind = BUY, .which = run->game->queues[run->round][place]});
    while (make(player, (struct move){.kind = LEVEL, .which = (uint8_t)favourite}))
        ;
    make(player, (struct move){.kind = NEXT});
}

/* Play n cases: moves of case i go to moves[i * 1024], their number to counts[i]. Work is not used. Returns 0. */
int64_t poker_play(const struct ruleset *rules, const struct game *games, int64_t n, int64_t work,
                struct move *moves, int32_t *counts)
{
    (void)work;
    for (int64_t i = 0; i < n; i++) {
        struct player player = {.moves = &moves[i * MOST_MOVES]};
        start_run(&player.run, rules, &games[i], 0);
        int before = -1;
        while (player.run.phase != OVER && player.count > before) {
            before = player.count;
            if (player.run.phase == IN_ROUND)
                play_one_round(&player);
            else
                visit(&player);
        }
        counts[i] = player.count;
    }
    return 0;
}
