/* A table in C: the same game as table.py, move for move, for matches at full speed.
 * Money is in half coins, wagers are in coins; a card is 4 * rank + suit, with the ranks in the order A, 2, ..., K. */
#ifndef BLACKJACK_TABLE_H
#define BLACKJACK_TABLE_H

#include <stdint.h>

enum { MAX_SEATS = 64, MAX_SPLIT = 8, MAX_CARDS = 32, RANKS = 13, DECK = 52 };

enum action { STAND, HIT, DOUBLE, SPLIT, BET, INSURANCE, NO_INSURANCE, UNKNOWN };
enum phase { BETWEEN, BETTING, INSURING, PLAYING };
enum verdict { FINE, ILLEGAL, UNAFFORDABLE };

/* Which of HIT, DOUBLE and SPLIT a hand may take beside STAND. */
enum { MAY_HIT = 1, MAY_DOUBLE = 2, MAY_SPLIT = 4 };

struct rules {
    int32_t decks, reshuffle_at;
    int32_t dealer_hits_soft_17, insurance_allowed;
    int64_t payout_num, payout_den; /* half coins for each coin of a natural's wager */
    int32_t double_least, double_most; /* totals that may double; least above most: none */
    int32_t double_after_split, split_max_hands, resplit_aces, hit_split_aces, split_by_value;
    int32_t natural_completes, twenty_one_completes, clamp;
    int32_t max_hands;
    int64_t min_bet, max_bet;
};

struct hand {
    int64_t wager;
    uint8_t cards[MAX_CARDS];
    uint8_t count, hard, ace, is_split, from_aces, completed;
};

struct seat {
    int64_t balance, wagered;
    int64_t bet, staked, insurance; /* coins in this game */
    uint32_t games, decisions;
    int32_t terminated; /* 0, or 1 + its rank among the terminated */
    int32_t number;     /* place in this game */
    int32_t hand_count;
    struct hand hands[MAX_SPLIT];
};

struct table {
    struct rules rules;
    uint64_t shoe_secret, order_secret;
    int32_t bots, seated, terminated;
    uint32_t games_completed, game_id;
    int64_t bank;

    int32_t phase, turn, hand_index; /* whose decision it is */
    int32_t order[MAX_SEATS];        /* positions of the seated, in the order of this game */
    int32_t gone[MAX_SEATS];         /* positions of the terminated, in order of time */
    uint8_t dealer[MAX_CARDS];
    int32_t dealer_count, peeked;

    uint32_t shuffles;
    int32_t size, left, on_table;
    int32_t discards[RANKS];
    uint8_t *cards, *laid; /* still to come, the next one last; on the table */

    struct seat seats[MAX_SEATS];
};

/* Go on to the next decision. Returns 0 if there is none because the game is over (the phase is BETWEEN then) or, if
 * the phase was BETWEEN already, because nobody can be seated or nobody has bet. */
int table_advance(struct table *table);

/* The seat whose decision it is, and the actions it has. */
struct seat *table_asked(struct table *table);
int table_legal(const struct table *table, const struct seat *seat, const struct hand *hand, int rich);

/* Take an answer. amount: coins, or NO_AMOUNT if left out. Does nothing to the table unless the verdict is FINE. */
#define NO_AMOUNT INT64_MIN
int table_apply(struct table *table, int action, int64_t amount);

/* Take the asked seat out of the match. */
void table_terminate(struct table *table);

static inline int hand_total(const struct hand *hand)
{
    return hand->ace && hand->hard <= 11 ? hand->hard + 10 : hand->hard;
}

static inline int card_value(int card)
{
    return card < 40 ? card / 4 + 1 : 10;
}

#endif
