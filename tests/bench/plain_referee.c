/*
 * A plain UNO referee: the yardstick of the benchmark and a second, independent reading of the rules.
 *
 * It is what a competent author would write from the rules in an afternoon: cards are structs, the deck
 * is shuffled whole, and before each call the bot gets a state of its own, filled by copying the live
 * part of every field. It shares no line with simfarm's referee, so that the two can be compared.
 *
 *   gcc -O2 -Iengines/uno/referee -DBOT0=a_Play -DBOT1=b_Play -DBOT2=c_Play -DBOT3=d_Play \
 *       tests/bench/plain_referee.c a.c b.c c.c d.c -lm -o plain
 *   ./plain GAMES SEED
 *
 * Game g seats the bots by permutation g % 24. One JSON line comes out: per-bot lists are in the order
 * BOT0 .. BOT3.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "proj2.h"

extern int BOT0(GameState *);
extern int BOT1(GameState *);
extern int BOT2(GameState *);
extern int BOT3(GameState *);

#define SEATINGS 24
#define HAND_SIZE 7
/* Four bots that never play a card would go on for ever; a game of this many turns has no winner. */
#define MAX_TURNS 100000

typedef struct {
    Deck deck;     /* the next card to draw is the last one */
    Deck discards; /* the top is the last one */
    Deck hands[MAX_PLAYERS];
    int called[MAX_PLAYERS]; /* each seat's last called colour */
    int lastCalled;
    int direction;
    int player; /* whose turn it is */
    int turns;
    int reshuffles;
} Game;

typedef struct {
    long long turns, turnsSquared, points, pointsSquared, reshuffles, unfinished;
    long long winsByOffset[MAX_PLAYERS];
    long long botPoints[MAX_PLAYERS], botWins[MAX_PLAYERS], botPenalties[MAX_PLAYERS];
} Totals;

/* ---- random numbers: xorshift with a multiplication, one stream for the whole run ---- */

static uint64_t randomState;

static uint32_t nextRandom(void) {
    randomState ^= randomState >> 12;
    randomState ^= randomState << 25;
    randomState ^= randomState >> 27;
    return (uint32_t)((randomState * UINT64_C(0x2545F4914F6CDD1D)) >> 32);
}

static int randomBelow(int n) {
    return (int)(((uint64_t)nextRandom() * (uint64_t)n) >> 32);
}

static void seedRandom(uint64_t seed) {
    int i;
    randomState = seed * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0xD1B54A32D192ED03);
    if (randomState == 0) {
        randomState = 1;
    }
    for (i = 0; i < 16; i++) {
        nextRandom();
    }
}

/* ---- cards ---- */

static void push(Deck *deck, Card card) {
    deck->cards[deck->numCards++] = card;
}

static void pushNew(Deck *deck, int type, int colour, int value, int copies) {
    Card card;
    card.type = type;
    card.colour = colour;
    card.value = value;
    while (copies-- > 0) {
        push(deck, card);
    }
}

static void makeDeck(Deck *deck) {
    int colour, value, type;
    deck->numCards = 0;
    for (colour = RED; colour <= YELLOW; colour += GREEN - RED) {
        pushNew(deck, NUMBER, colour, 0, 1);
        for (value = 1; value <= 9; value++) {
            pushNew(deck, NUMBER, colour, value, 2);
        }
        for (type = SKIP; type <= DRAW_TWO; type++) {
            pushNew(deck, type, colour, 20, 2);
        }
    }
    pushNew(deck, WILD, NONE, 50, 4);
    pushNew(deck, WILD_D4, NONE, 50, 4);
}

static void shuffle(Deck *deck) {
    int i;
    for (i = deck->numCards - 1; i > 0; i--) {
        int j = randomBelow(i + 1);
        Card held = deck->cards[i];
        deck->cards[i] = deck->cards[j];
        deck->cards[j] = held;
    }
}

static int isWild(const Card *card) {
    return card->type == WILD || card->type == WILD_D4;
}

static int isPlayable(const Game *game, const Card *card) {
    const Card *top = &game->discards.cards[game->discards.numCards - 1];
    if (isWild(card)) {
        return 1;
    }
    if (isWild(top)) {
        return card->colour == game->lastCalled;
    }
    if (card->colour == top->colour) {
        return 1;
    }
    return card->type == top->type && (card->type != NUMBER || card->value == top->value);
}

static int canPlay(const Game *game, const Deck *hand) {
    int i;
    for (i = 0; i < hand->numCards; i++) {
        if (isPlayable(game, &hand->cards[i])) {
            return 1;
        }
    }
    return 0;
}

/* ---- the course of a game ---- */

static void reshuffle(Game *game) {
    Deck *discards = &game->discards;
    int below = discards->numCards - 1;
    memcpy(game->deck.cards, discards->cards, (size_t)below * sizeof(Card));
    game->deck.numCards = below;
    discards->cards[0] = discards->cards[below];
    discards->numCards = 1;
    shuffle(&game->deck);
    game->reshuffles++;
}

/* Draws up to `count` cards: fewer when neither the deck nor the discards hold any more. */
static void drawCards(Game *game, int seat, int count) {
    while (count-- > 0) {
        if (game->deck.numCards == 0) {
            if (game->discards.numCards == 1) {
                return;
            }
            reshuffle(game);
        }
        push(&game->hands[seat], game->deck.cards[--game->deck.numCards]);
    }
}

static void deal(Game *game, const Deck *fullDeck) {
    int seat;
    memcpy(&game->deck, fullDeck, sizeof(Deck));
    shuffle(&game->deck);
    game->discards.numCards = 0;
    game->reshuffles = 0;
    game->turns = 0;
    for (seat = 0; seat < MAX_PLAYERS; seat++) {
        game->hands[seat].numCards = 0;
        game->called[seat] = NONE;
        drawCards(game, seat, HAND_SIZE);
    }
    do {
        push(&game->discards, game->deck.cards[--game->deck.numCards]);
    } while (isWild(&game->discards.cards[game->discards.numCards - 1]));
    game->lastCalled = NONE;
    game->player = randomBelow(MAX_PLAYERS);
    game->direction = randomBelow(2) ? LEFT : RIGHT;
}

static void passTurn(Game *game) {
    int step = game->direction == LEFT ? MAX_PLAYERS - 1 : 1;
    game->player = (game->player + step) % MAX_PLAYERS;
}

static void fillState(const Game *game, const long long *scores, const int *seating, GameState *state) {
    const Deck *hand = &game->hands[game->player];
    int seat;
    state->numberOfPlayers = MAX_PLAYERS;
    state->directionOfPlay = game->direction;
    state->lastColourCalled = game->lastCalled;
    state->yourPosition = game->player;
    state->yourNumberOfCards = hand->numCards;
    memcpy(state->yourCards, hand->cards, (size_t)hand->numCards * sizeof(Card));
    state->numberOfDiscards = game->discards.numCards;
    memcpy(state->discardPile, game->discards.cards, (size_t)game->discards.numCards * sizeof(Card));
    for (seat = 0; seat < MAX_PLAYERS; seat++) {
        state->allPlayersCardsLeft[seat] = game->hands[seat].numCards;
        state->allPlayersColoursCalled[seat] = game->called[seat];
        state->allPlayersScores[seat] = (int)scores[seating[seat]];
    }
}

static int callBot(int bot, GameState *state) {
    switch (bot) {
    case 0:
        return BOT0(state);
    case 1:
        return BOT1(state);
    case 2:
        return BOT2(state);
    default:
        return BOT3(state);
    }
}

/* Splits an answer into an index and a called colour (NONE: no colour given). */
static void readAnswer(int answer, int *index, int *colour) {
    *index = answer;
    *colour = NONE;
    if (answer >= RED && answer < NONE) {
        *colour = answer / RED * RED;
        *index = answer - *colour;
    }
}

/* Plays card `index` of the player's hand and applies its effect; returns 1 when that was the last card. */
static int playCard(Game *game, int index, int colour) {
    Deck *hand = &game->hands[game->player];
    Card card = hand->cards[index];
    hand->numCards--;
    memmove(&hand->cards[index], &hand->cards[index + 1], (size_t)(hand->numCards - index) * sizeof(Card));
    push(&game->discards, card);
    if (isWild(&card)) {
        game->lastCalled = colour;
        game->called[game->player] = colour;
    }
    if (hand->numCards == 0) {
        return 1;
    }
    if (card.type == REVERSE) {
        game->direction = game->direction == LEFT ? RIGHT : LEFT;
    }
    passTurn(game);
    if (card.type == SKIP) {
        passTurn(game);
    } else if (card.type == DRAW_TWO) {
        drawCards(game, game->player, 2);
        passTurn(game);
    } else if (card.type == WILD_D4) {
        drawCards(game, game->player, 4);
        passTurn(game);
    }
    return 0;
}

/* Plays one game to its end; returns the winner's seat, or -1 when the turns ran out. */
static int playGame(Game *game, const int *seating, Totals *totals) {
    GameState state;
    while (game->turns < MAX_TURNS) {
        Deck *hand = &game->hands[game->player];
        int index, colour;
        game->turns++;
        fillState(game, totals->botPoints, seating, &state);
        readAnswer(callBot(seating[game->player], &state), &index, &colour);
        if (index == -1 && colour == NONE && !canPlay(game, hand)) {
            drawCards(game, game->player, 1);
            passTurn(game);
        } else if (index >= 0 && index < hand->numCards && isPlayable(game, &hand->cards[index]) &&
                   isWild(&hand->cards[index]) == (colour != NONE)) {
            int player = game->player;
            if (playCard(game, index, colour)) {
                return player;
            }
        } else {
            totals->botPenalties[seating[game->player]]++;
            drawCards(game, game->player, 2);
            passTurn(game);
        }
    }
    return -1;
}

static int handPoints(const Deck *hand) {
    int i, sum = 0;
    for (i = 0; i < hand->numCards; i++) {
        sum += hand->cards[i].value;
    }
    return sum;
}

static void makeSeatings(int seatings[SEATINGS][MAX_PLAYERS]) {
    int a, b, c, n = 0;
    for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
            for (c = 0; c < 4; c++) {
                if (a != b && a != c && b != c) {
                    seatings[n][0] = a;
                    seatings[n][1] = b;
                    seatings[n][2] = c;
                    seatings[n++][3] = 6 - a - b - c;
                }
            }
        }
    }
}

/* ---- the run and its report ---- */

static void addGame(Totals *totals, const Game *game, const int *seating, int first, int winner) {
    int seat, points = 0;
    totals->turns += game->turns;
    totals->turnsSquared += (long long)game->turns * game->turns;
    totals->reshuffles += game->reshuffles;
    if (winner < 0) {
        totals->unfinished++;
        return;
    }
    for (seat = 0; seat < MAX_PLAYERS; seat++) {
        points += handPoints(&game->hands[seat]);
    }
    totals->points += points;
    totals->pointsSquared += (long long)points * points;
    totals->winsByOffset[(winner - first + MAX_PLAYERS) % MAX_PLAYERS]++;
    totals->botPoints[seating[winner]] += points;
    totals->botWins[seating[winner]]++;
}

static double deviation(long long sum, long long squares, long long games) {
    double mean = (double)sum / (double)games;
    return sqrt((double)squares / (double)games - mean * mean);
}

static void printCounts(const char *name, const long long *counts) {
    printf("\"%s\": [%lld, %lld, %lld, %lld], ", name, counts[0], counts[1], counts[2], counts[3]);
}

static void printShares(const char *name, const long long *counts, long long whole) {
    double n = whole > 0 ? (double)whole : 1.0;
    printf("\"%s\": [%.6f, %.6f, %.6f, %.6f], ", name, (double)counts[0] / n, (double)counts[1] / n,
           (double)counts[2] / n, (double)counts[3] / n);
}

static void report(const Totals *totals, long long games, double seconds) {
    printf("{\"games\": %lld, \"seconds\": %.4f, \"unfinished\": %lld, ", games, seconds, totals->unfinished);
    printf("\"turns_per_game\": %.4f, \"turns_sd\": %.4f, ", (double)totals->turns / (double)games,
           deviation(totals->turns, totals->turnsSquared, games));
    printf("\"points_per_game\": %.4f, \"points_sd\": %.4f, ", (double)totals->points / (double)games,
           deviation(totals->points, totals->pointsSquared, games));
    printShares("wins_by_offset", totals->winsByOffset, games);
    printCounts("points", totals->botPoints);
    printShares("share", totals->botPoints, totals->points);
    printCounts("wins", totals->botWins);
    printCounts("penalties", totals->botPenalties);
    printf("\"reshuffles_per_game\": %.6f}\n", (double)totals->reshuffles / (double)games);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    int seatings[SEATINGS][MAX_PLAYERS];
    long long games, g;
    double start;
    Deck fullDeck;
    Game game;
    Totals totals;
    if (argc != 3 || (games = strtoll(argv[1], NULL, 10)) < 1) {
        fprintf(stderr, "usage: %s GAMES SEED\n", argv[0]);
        return 2;
    }
    memset(&totals, 0, sizeof(totals));
    seedRandom(strtoull(argv[2], NULL, 10));
    makeDeck(&fullDeck);
    makeSeatings(seatings);
    start = now();
    for (g = 0; g < games; g++) {
        const int *seating = seatings[g % SEATINGS];
        int first, winner;
        deal(&game, &fullDeck);
        first = game.player;
        winner = playGame(&game, seating, &totals);
        addGame(&totals, &game, seating, first, winner);
    }
    report(&totals, games, now() - start);
    return 0;
}
