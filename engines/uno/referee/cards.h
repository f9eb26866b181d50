/* The 108 cards by kind, and what matches what (README, sections Cards and Playing). */
#ifndef UNO_CARDS_H
#define UNO_CARDS_H

#include <stdint.h>

#include "proj2.h"

/* A kind is 13 * colour + symbol for coloured cards (colours in the order of the constants; symbols are 0 to 9,
 * skip, reverse, draw two), then the two wilds. The deck holds kinds: a byte for a card. */
enum { SYMBOLS = 13, KIND_WILD = 4 * SYMBOLS, KIND_WILD_D4, KINDS };

/* A hand in numbers: how many cards it has of each colour (8 bits each, wilds last) and of each symbol (4 bits
 * each, the two wilds last). Tells at once whether anything can be played. */
struct holding {
    uint64_t colours, symbols;
};

struct kind {
    Card card;
    int zero; /* makes the card 16 bytes, see put_card */
    struct holding one;
    int colour_shift, symbol_shift; /* where in a holding its colour and its symbol are counted */
};

enum { WILD_SHIFT = 32 };

static struct kind kinds[KINDS];
static uint8_t full_deck[MAX_CARDS];

static inline int colour_shift(int colour)
{
    return 8 * (colour / RED - 1);
}

static inline int kind_of_card(const Card *card)
{
    if (card->type >= WILD)
        return KIND_WILD + (card->type - WILD);
    int symbol = card->type == NUMBER ? card->value : 9 + card->type;
    return SYMBOLS * (card->colour / RED - 1) + symbol;
}

static void make_cards(void)
{
    int number;
    int used = 0;
    for (number = 0; number < KINDS; number++) {
        int copies;
        struct kind *kind = &kinds[number];
        int wild = number >= KIND_WILD, symbol = wild ? SYMBOLS + number - KIND_WILD : number % SYMBOLS;
        int colour = wild ? NONE : RED * (1 + number / SYMBOLS);
        if (symbol <= 9)
            kind->card = (Card){NUMBER, colour, symbol};
        else
            kind->card = (Card){symbol - 9, colour, wild ? 50 : 20};
        kind->colour_shift = colour_shift(colour);
        kind->symbol_shift = 4 * symbol;
        kind->one.colours = UINT64_C(1) << kind->colour_shift;
        kind->one.symbols = UINT64_C(1) << kind->symbol_shift;
        for (copies = wild ? 4 : symbol == 0 ? 1 : 2; copies > 0; copies--)
            full_deck[used++] = (uint8_t)number;
    }
}

/* Whether a coloured card goes on `top` when `colour` is asked for. Specials of one type have one value, so
 * equal type and value is both rules at once: number on number and special on special. */
static inline int matches(Card card, Card top, int colour)
{
    return (card.colour == colour) | ((card.type == top.type) & (card.value == top.value));
}

#endif
