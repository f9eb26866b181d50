/*
 * sparring_points: gets rid of points.
 *
 * Whoever loses pays what is left in the hand, so it plays the dearest card that fits: skips, reverses
 * and draw-twos, then high numbers. Wilds, which always fit, wait for a turn on which nothing else does,
 * or until somebody holds two cards or fewer: then they go first. Between equals it takes the colour in
 * which it holds most points, and that is the colour it calls.
 *
 * Measured in the ring veteran, sparring_points, sparring_tempo, sparring_colour (20,000,000 games): 20.97 % of
 * all points, 9.78 points of share behind veteran.
 */
#include "proj2.h"

int sparring_points_isWild(Card card) {
    return card.type == WILD || card.type == WILD_D4;
}

int sparring_points_isPlayable(GameState *state, Card card) {
    Card top = state->discardPile[state->numberOfDiscards - 1];
    if (sparring_points_isWild(card)) {
        return 1;
    }
    if (sparring_points_isWild(top)) {
        return card.colour == state->lastColourCalled;
    }
    if (card.colour == top.colour) {
        return 1;
    }
    return card.type == top.type && (card.type != NUMBER || card.value == top.value);
}

/* The points held in one colour. */
int sparring_points_held(GameState *state, int colour) {
    int i, sum = 0;
    for (i = 0; i < state->yourNumberOfCards; i++) {
        if (state->yourCards[i].colour == colour) {
            sum += state->yourCards[i].value;
        }
    }
    return sum;
}

/* 1 when one of the others is about to go out. */
int sparring_points_isLate(GameState *state) {
    int seat;
    for (seat = 0; seat < MAX_PLAYERS; seat++) {
        if (seat != state->yourPosition && state->allPlayersCardsLeft[seat] <= 2) {
            return 1;
        }
    }
    return 0;
}

int sparring_points_dearestColour(GameState *state) {
    int colour, best = RED, most = -1;
    for (colour = RED; colour <= YELLOW; colour += RED) {
        int points = sparring_points_held(state, colour);
        if (points > most) {
            most = points;
            best = colour;
        }
    }
    return best;
}

int sparring_points_Play(GameState *state) {
    int late = sparring_points_isLate(state);
    int i, best = -1, dearest = -1, tie = -1;
    for (i = 0; i < state->yourNumberOfCards; i++) {
        Card card = state->yourCards[i];
        int price = sparring_points_isWild(card) && !late ? 0 : card.value;
        if (price >= dearest && sparring_points_isPlayable(state, card)) {
            int held = sparring_points_held(state, card.colour);
            if (price > dearest || held > tie) {
                best = i;
                dearest = price;
                tie = held;
            }
        }
    }
    if (best >= 0 && sparring_points_isWild(state->yourCards[best])) {
        return sparring_points_dearestColour(state) + best;
    }
    return best;
}
