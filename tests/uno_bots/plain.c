/* The bot that tests of UNO make others from: plays its first playable card and calls red. */
#include "proj2.h"

static int plain_choose(const GameState *state)
{
    Card top = state->discardPile[state->numberOfDiscards - 1];
    int colour = top.type >= WILD ? state->lastColourCalled : top.colour;
    int i;
    for (i = 0; i < state->yourNumberOfCards; i++) {
        Card card = state->yourCards[i];
        if (card.type >= WILD)
            return RED + i;
        if (card.colour == colour || (card.type == top.type && (card.type != NUMBER || card.value == top.value)))
            return i;
    }
    return -1;
}

int plain_Play(GameState *state)
{
    int choice = plain_choose(state);
    /* BODY */
    return choice;
}
