/* One game by the rules (README, section Playing). The position of the game is in `now` and in the views, never
 * in local variables across a call to a bot, so that a game can be taken up again after a jump out of one. */
#ifndef UNO_GAME_H
#define UNO_GAME_H

#include "call.h"
#include "cards.h"
#include "seeds.h"
#include "trace.h"
#include "views.h"
#include "walls.h"
#include "wasm.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* How a game ends, in the order of TERMINATIONS in records.py; then what is not an end. */
enum { COMPLETED, LENGTH_LIMIT, FORFEITED, TIMEOUT, EXITED, CRASHED, FORBIDDEN, CALL_AGAIN };

struct player {
    bot_function *play;
    const char *name;
    int writes; /* has written to its state: it gets private copies */
    int score;  /* points in this segment */
#ifdef UNO_WASM
    struct instance at[SEATS];
#endif
};

static struct {
    struct player *players[SEATS];
    uint64_t game; /* counts games, silent ones too */
    uint64_t seed; /* of the game */
    uint64_t stream;
    int turn; /* from 1 up; 0 between games */
    int seat; /* whose turn it is */
    int step; /* to the next seat: 1 right, 3 left */
    Card top;
    int colour;                     /* that a card must have to match */
    int colour_shift, symbol_shift; /* where holdings count that colour, and the symbol of the top card */
    struct holding hands[SEATS];
    int left;   /* cards in the deck */
    int reshuffles;
    int points;
    int first_seat, first_right; /* who began, and whether to the right */
    int penalties[SEATS];
    uint8_t deck[MAX_CARDS];
} now SHARED;

static int max_turns;

/* By type: whether the next seat misses its turn, and what it draws. */
static const int misses_turn[] = {[SKIP] = 1, [DRAW_TWO] = 1, [WILD_D4] = 1};
static const int draws[] = {[DRAW_TWO] = 2, [WILD_D4] = 4};

enum { HAND = 7 };

/* The k-th draw takes one of the cards that are left, each as likely as any other: as good as a full shuffle,
 * at the cost of the cards that are needed. Who draws makes no difference. */
static inline const struct kind *draw_from_deck(void)
{
    uint32_t place = seeds_below(&now.stream, (uint32_t)now.left);
    const struct kind *kind = &kinds[now.deck[place]];
    now.deck[place] = now.deck[--now.left];
    return kind;
}

static inline void draw_into_hand(int seat, int place)
{
    const struct kind *kind = draw_from_deck();
    put_card(&own(seat)->yourCards[place], *(const piece *)&kind->card);
    now.hands[seat].colours += kind->one.colours;
    now.hands[seat].symbols += kind->one.symbols;
}

/* All discards but the top one become the deck; returns the number of cards it then has. */
static __attribute__((noinline)) int reshuffle(void)
{
    int place, seat;
    int below = own(0)->numberOfDiscards - 1;
    for (place = 0; place < below; place++)
        now.deck[place] = (uint8_t)kind_of_card(&own(0)->discardPile[place]);
    now.left = below;
    if (below == 0)
        return 0;
    for (seat = 0; seat < SEATS; seat++) {
        GameState *state = own(seat);
        state->discardPile[0] = state->discardPile[below];
        memset(&state->discardPile[1], 0, (size_t)below * sizeof(Card));
        state->numberOfDiscards = 1;
    }
    now.reshuffles++;
    TRACE("    the deck is empty: %d discards are shuffled into a new one\n", below);
    return below;
}

static inline void draw_cards(int seat, int count)
{
    int held = own(seat)->yourNumberOfCards, more = held + count;
    for (; held < more; held++) {
        if (unlikely(now.left == 0) && !reshuffle())
            break;
        draw_into_hand(seat, held);
    }
    show_count(seat, held);
    TRACE_DRAW(seat, held - (more - count));
}

static inline void set_top(const struct kind *kind, int colour, int shift)
{
    now.top = kind->card;
    now.symbol_shift = kind->symbol_shift;
    now.colour = colour;
    now.colour_shift = shift;
}

/* Deals; the first card's effect is not applied, wilds that are turned up before it stay in the pile. */
static void deal(uint64_t seed)
{
    int seat;
    now.game++;
    now.seed = seed;
    now.stream = seed;
    now.step = seeds_below(&now.stream, 2) ? 1 : 3;
    now.seat = (int)seeds_below(&now.stream, SEATS);
    now.first_seat = now.seat;
    now.first_right = now.step == 1;
    now.reshuffles = 0;
    now.points = 0;
    memset(now.penalties, 0, sizeof now.penalties);
    memcpy(now.deck, full_deck, sizeof full_deck);
    now.left = MAX_CARDS;
    clear_views();
    memset(now.hands, 0, sizeof now.hands);
    for (seat = 0; seat < SEATS; seat++) {
        int place, other;
        for (place = 0; place < HAND; place++)
            draw_into_hand(seat, place);
        show_count(seat, HAND);
        own(seat)->directionOfPlay = now.step == 1 ? RIGHT : LEFT;
        for (other = 0; other < SEATS; other++)
            own(other)->allPlayersScores[seat] = now.players[seat]->score;
    }
    const struct kind *first;
    TRACE("seat %d begins, direction %s; first card:", now.seat, now.step == 1 ? "right" : "left");
    do {
        first = draw_from_deck();
        show_discard(*(const piece *)&first->card);
        TRACE_CARD(" ", first->card);
    } while (first->card.type >= WILD);
    TRACE("\n");
    set_top(first, first->card.colour, first->colour_shift);
}

static inline int ask_bot(void)
{
    struct player *player = now.players[now.seat];
#ifdef UNO_WASM
    struct instance *instance = &player->at[now.seat];
#ifdef UNO_WIPE
    wipe(instance);
#endif
    settle(instance);
    uint32_t state = instance->state;
    if (unlikely(player->writes)) {
        make_copy(now.seat, bot_memory(instance, COPY_PLACE));
        state = instance->copy;
    }
    return call_bot(player->play, instance->module, state);
#else
    GameState *state = unlikely(player->writes) ? make_copy(now.seat, copy_page) : shown(now.seat);
    return call_bot(player->play, state, 0);
#endif
}

/* Whether an address lies in what the bot on turn is shown and must not write to. */
static int is_shown(const void *address)
{
#ifdef UNO_WASM
    const struct instance *instance = &now.players[now.seat]->at[now.seat];
    return is_in_page(address, bot_memory(instance, instance->state));
#else
    return is_in_page(address, shown(now.seat));
#endif
}

static inline int has_playable(int seat)
{
    struct holding hand = now.hands[seat];
    return ((hand.colours >> now.colour_shift) & 255) | (hand.colours >> WILD_SHIFT) |
           ((hand.symbols >> now.symbol_shift) & 15);
}

static __attribute__((noinline)) void penalise(int seat, int answer, const char *why)
{
    (void)answer, (void)why;
    TRACE("answers %d: penalty, %s\n", answer, why);
    now.penalties[seat]++;
    draw_cards(seat, 2);
}

static __attribute__((noinline)) void score_win(int winner)
{
    int seat, place;
    for (seat = 0; seat < SEATS; seat++)
        for (place = 0; place < own(seat)->yourNumberOfCards; place++)
            now.points += own(seat)->yourCards[place].value;
    TRACE("%s wins with %d points\n", now.players[winner]->name, now.points);
    (void)winner;
}

static inline void pass_turn(void)
{
    now.seat = (now.seat + now.step) & (SEATS - 1);
}

/* The card at `index` is played and asks for `colour`; its effect takes place; returns whether that wins the game.
 * In the end it is the turn of the seat before the next one to play. */
static ALWAYS_INLINE int play_card(int seat, int index, const struct kind *kind, int colour, int shift)
{
    GameState *state = own(seat);
    int count = state->yourNumberOfCards, type = kind->card.type;
    piece card = *(const piece *)&state->yourCards[index] & card_mask;
    show_discard(card);
    take_card(state->yourCards, index, count);
    now.hands[seat].colours -= kind->one.colours;
    now.hands[seat].symbols -= kind->one.symbols;
    show_count(seat, count - 1);
    set_top(kind, colour, shift);
    if (unlikely(count == 1)) {
        score_win(seat);
        return 1;
    }
    if (type == REVERSE) {
        int other;
        now.step = SEATS - now.step;
        for (other = 0; other < SEATS; other++)
            own(other)->directionOfPlay = now.step == 1 ? RIGHT : LEFT;
        TRACE("    direction is now %s\n", now.step == 1 ? "right" : "left");
        return 0;
    }
    /* a branch less: skip, draw two and wild draw four */
    now.seat = (seat + misses_turn[type] * now.step) & (SEATS - 1);
    if (draws[type] != 0)
        draw_cards(now.seat, draws[type]);
    if (misses_turn[type])
        TRACE("    %s misses a turn\n", now.players[now.seat]->name);
    return 0;
}

/* What an answer with a colour leads to. */
static __attribute__((noinline)) int resolve_coloured(int seat, int answer)
{
    int other;
    const GameState *state = own(seat);
    int colour = answer / RED * RED, index = answer - colour;
    if (index >= state->yourNumberOfCards || state->yourCards[index].type < WILD) {
        int no_card = index >= state->yourNumberOfCards;
        penalise(seat, answer, no_card ? "no such card" : "a colour with a card that is not wild");
        return 0;
    }
    const struct kind *kind = &kinds[kind_of_card(&state->yourCards[index])];
    TRACE("plays");
    TRACE_CARD(" ", kind->card);
    TRACE(" and calls %s\n", colour_name(colour));
    for (other = 0; other < SEATS; other++) {
        own(other)->lastColourCalled = colour;
        own(other)->allPlayersColoursCalled[seat] = colour;
    }
    return play_card(seat, index, kind, colour, colour_shift(colour));
}

/* What an answer leads to; returns whether the game is won. */
static inline int resolve(int seat, int answer)
{
    const GameState *state = own(seat);
    unsigned int count = (unsigned int)state->yourNumberOfCards;
    if (likely((unsigned int)answer < count)) {
        Card card = state->yourCards[answer];
        if (likely(card.type < WILD && matches(card, now.top, now.colour))) {
            TRACE("plays");
            TRACE_CARD(" ", card);
            TRACE("\n");
            const struct kind *kind = &kinds[kind_of_card(&card)];
            return play_card(seat, answer, kind, card.colour, kind->colour_shift);
        }
        penalise(seat, answer, card.type < WILD ? "the card does not match" : "a wild needs a colour");
        return 0;
    }
    if (answer == -1) {
        if (unlikely(has_playable(seat))) {
            penalise(seat, answer, "a card can be played");
        } else {
            TRACE("cannot play\n");
            draw_cards(seat, 1);
        }
        return 0;
    }
    if ((unsigned int)answer - RED < NONE - RED)
        return resolve_coloured(seat, answer);
    penalise(seat, answer, "no such card");
    return 0;
}

/* Plays on from the turn in `now` to the end of the game; returns COMPLETED with `now.seat` the winner, or
 * LENGTH_LIMIT. */
static int play_turns(void)
{
    for (;;) {
        CHECK_TABLE();
        int seat = now.seat, answer = ask_bot();
        TRACE_TURN();
        if (resolve(seat, answer))
            return COMPLETED;
        pass_turn();
        if (unlikely(now.turn == max_turns)) {
            TRACE("nobody wins within %d turns\n", max_turns);
            return LENGTH_LIMIT;
        }
        now.turn++;
    }
}

#endif
