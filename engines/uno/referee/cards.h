/* The 108 cards by kind, and what matches what (README, sections Cards and Playing). */
#ifndef UNO_CARDS_H
#define UNO_CARDS_H

#include <stdint.h>

#include "proj2.h"

/* A kind is 13 * colour + symbol for coloured cards (colours in the order of the constants; symbols are 0 to 9,
 * skip, reverse, draw two), then the two wilds. The deck holds kinds: a byte for a card. */
enum { SYMBOLS = 13, KIND_WILD = 4 * SYMBOLS, KIND_WILD_D4, KINDS };

static Card card_of_kind[KINDS];
static uint8_t full_deck[MAX_CARDS];

static int kind_of_card(const Card *card)
{
    if (card->type >= WILD)
        return KIND_WILD + (card->type - WILD);
    int symbol = card->type == NUMBER ? card->value : 9 + card->type;
    return SYMBOLS * (card->colour / RED - 1) + symbol;
}

static void make_cards(void)
{
    int used = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        int copies = kind >= KIND_WILD ? 4 : kind % SYMBOLS == 0 ? 1 : 2;
        Card *card = &card_of_kind[kind];
        if (kind >= KIND_WILD)
            *card = (Card){WILD + (kind - KIND_WILD), NONE, 50};
        else if (kind % SYMBOLS <= 9)
            *card = (Card){NUMBER, RED * (1 + kind / SYMBOLS), kind % SYMBOLS};
        else
            *card = (Card){kind % SYMBOLS - 9, RED * (1 + kind / SYMBOLS), 20};
        while (copies--)
            full_deck[used++] = (uint8_t)kind;
    }
}

/* Whether a coloured card goes on `top` when `colour` is asked for. Specials of one type have one value, so
 * equal type and value is both rules at once: number on number and special on special. */
static inline int matches(Card card, Card top, int colour)
{
    return (card.colour == colour) | ((card.type == top.type) & (card.value == top.value));
}

#endif
