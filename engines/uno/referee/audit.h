/* The parts of trace.h that look at a whole game. */
#ifndef UNO_AUDIT_H
#define UNO_AUDIT_H

#include "guard.h"

#ifdef UNO_TRACE

static void trace_turn(void)
{
    int place;
    const GameState *state = own(now.seat);
    trace_print("%3d  seat %d %s [", now.turn, now.seat, now.players[now.seat]->name);
    for (place = 0; place < state->yourNumberOfCards; place++)
        trace_card(place ? ", " : "", state->yourCards[place]);
    trace_card("] on ", now.top);
    if (now.top.type >= WILD)
        trace_print(" (%s)", colour_name(now.colour));
    trace_print(" ");
}

/* All else that the seat on turn is shown. */
static void trace_state(void)
{
    int seat, place;
    const GameState *state = own(now.seat);
    trace_print("    it was shown: direction %s", state->directionOfPlay == RIGHT ? "right" : "left");
    for (seat = 0; seat < SEATS; seat++) {
        int called = state->allPlayersColoursCalled[seat];
        trace_print("; seat %d has %d cards, called %s, scored %d", seat, state->allPlayersCardsLeft[seat],
                    called == NONE ? "nothing" : colour_name(called), state->allPlayersScores[seat]);
    }
    for (place = 0; place < state->numberOfDiscards; place++)
        trace_card(place ? ", " : "; discards: ", state->discardPile[place]);
    trace_print("\n");
}

/* The cards that a seat has just drawn are the last ones of its hand. */
static void trace_draw(int seat, int count)
{
    int place;
    const GameState *state = own(seat);
    trace_print("    %s draws%s", now.players[seat]->name, count ? "" : " nothing: no card is left");
    for (place = state->yourNumberOfCards - count; place < state->yourNumberOfCards; place++)
        trace_card(" ", state->yourCards[place]);
    trace_print("\n");
}

#endif

#ifdef UNO_CHECK

static void hold(int holds, const char *what)
{
    if (holds)
        return;
    char text[200];
    put(error_file, text, (size_t)snprintf(text, sizeof text, "check failed before turn %d: %s\n", now.turn, what));
    leave_program(3);
}

static void check_slots(const Card *cards, int used, int *count, int *points)
{
    int place;
    static const Card empty;
    hold(used >= 0 && used <= MAX_CARDS, "a number of cards");
    for (place = 0; place < MAX_CARDS; place++) {
        if (place >= used) {
            hold(memcmp(&cards[place], &empty, sizeof empty) == 0, "a slot without a card is zero");
            continue;
        }
        int kind = kind_of_card(&cards[place]);
        hold(kind >= 0 && kind < KINDS && memcmp(&cards[place], &kinds[kind].card, sizeof(Card)) == 0, "a card");
        count[kind]++;
        *points += cards[place].value;
    }
}

/* All 108 cards are somewhere, and what the seats are shown agrees with it and among itself. */
static void check_table(void)
{
    int place, seat, kind;
    int count[KINDS] = {0}, points = 0;
    for (place = 0; place < MAX_CARDS; place++)
        count[full_deck[place]]--;
    for (place = 0; place < now.left; place++) {
        count[now.deck[place]]++;
        points += kinds[now.deck[place]].card.value;
    }
    check_slots(own(0)->discardPile, own(0)->numberOfDiscards, count, &points);
    for (seat = 0; seat < SEATS; seat++) {
        int other;
        const GameState *state = shown(seat);
        struct holding hand = {0, 0};
        check_slots(state->yourCards, state->yourNumberOfCards, count, &points);
        for (place = 0; place < state->yourNumberOfCards; place++) {
            const struct kind *kind = &kinds[kind_of_card(&state->yourCards[place])];
            hand.colours += kind->one.colours;
            hand.symbols += kind->one.symbols;
        }
        hold(memcmp(&hand, &now.hands[seat], sizeof hand) == 0, "what the hand holds");
        hold(state->yourPosition == seat && state->numberOfPlayers == SEATS, "position");
        hold(state->directionOfPlay == (now.step == 1 ? RIGHT : LEFT), "direction");
        for (other = 0; other < SEATS; other++) {
            hold(state->allPlayersScores[other] == now.players[other]->score, "scores");
            hold(state->allPlayersCardsLeft[other] == shown(other)->yourNumberOfCards, "card counts");
        }
        hold(state->numberOfDiscards == shown(0)->numberOfDiscards, "number of discards");
        hold(memcmp(state->discardPile, shown(0)->discardPile, sizeof state->discardPile) == 0, "discards");
        hold(memcmp(state->allPlayersColoursCalled, shown(0)->allPlayersColoursCalled,
                    sizeof state->allPlayersColoursCalled) == 0,
             "colours called");
        const Card *top = &state->discardPile[state->numberOfDiscards - 1];
        hold(memcmp(top, &now.top, sizeof *top) == 0, "top card");
        hold(now.colour == (top->type < WILD ? top->colour : state->lastColourCalled), "colour asked for");
        hold(now.colour != NONE && now.colour_shift == colour_shift(now.colour), "place of the colour");
    }
    for (kind = 0; kind < KINDS; kind++)
        hold(count[kind] == 0, "every card is there once");
    hold(points == 1240, "the cards are worth 1240 points");
}

#endif

#endif
