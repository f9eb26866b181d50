/*
 * The interface between a UNO bot and its referee: constants, cards and what a bot is shown.
 *
 * Names, values, types and the order of the fields are those that the bots of 2013 were written against.
 * A bot includes this file as "proj2.h", or nothing at all.
 */
#ifndef PROJ2_H
#define PROJ2_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Card types */
#define NUMBER 0
#define SKIP 1
#define REVERSE 2
#define DRAW_TWO 3
#define WILD 4
#define WILD_D4 5
#define PENALTY 6

/* Directions: LEFT goes from seat p to (p + 3) % 4, RIGHT to (p + 1) % 4 */
#define LEFT 7
#define RIGHT 8

/* Colours; add the index of a wild to one of the first four to play it and call that colour */
#define RED 10000
#define GREEN 20000
#define BLUE 30000
#define YELLOW 40000
#define NONE 50000

#define MAX_CARDS 108
#define MAX_PLAYERS 4

typedef struct {
    int type;   /* NUMBER .. WILD_D4 */
    int colour; /* RED .. YELLOW; NONE for both wilds */
    int value;  /* points: the face of a number, 20 for skip, reverse and draw two, 50 for both wilds */
} Card;

typedef struct {
    Card cards[MAX_CARDS];
    int numCards;
} Deck;

typedef struct {
    int numberOfPlayers;
    int directionOfPlay;  /* LEFT or RIGHT */
    int lastColourCalled; /* the colour called with the last wild played in this game, or NONE */

    int yourPosition; /* your seat, 0 .. 3 */
    int yourNumberOfCards;
    Card yourCards[MAX_CARDS];

    int numberOfDiscards;
    Card discardPile[MAX_CARDS]; /* [0] is the bottom, [numberOfDiscards - 1] the top */

    int allPlayersCardsLeft[MAX_PLAYERS];
    int allPlayersColoursCalled[MAX_PLAYERS]; /* the last colour each seat called in this game, or NONE */
    int allPlayersScores[MAX_PLAYERS];        /* points so far; see the README for "so far" */
} GameState;

#endif
