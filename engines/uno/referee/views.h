/*
 * What the four seats are shown: four GameStates that are kept up to date in place, so that a call to a bot copies
 * nothing. Slots of hands and discards that hold no card are zero at all times.
 *
 * Each lies on a page of its own, and the pages are mapped twice. The referee plays on a writable mapping, bots
 * are given addresses in a read-only one with holes around every state: a write or a stray read faults (guard.h).
 */
#ifndef UNO_VIEWS_H
#define UNO_VIEWS_H

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cards.h"

enum { SEATS = MAX_PLAYERS };

_Static_assert(sizeof(Card) == 12 && sizeof(GameState) == 2664, "GameState is packed ints");

static GameState *own[SEATS];         /* writable */
static const GameState *shown[SEATS]; /* read-only: what a bot is given */
static size_t page_size;
static char *copy_page; /* holds one private copy for a bot that writes; holes on both sides */

/* Both mappings of a page differ by a multiple of 2^28 bytes: some processors guess the way of their first cache
 * from the lower bits of an address, and two addresses of one line would make them guess wrong at every turn. */
#define MAPPING_DISTANCE ((size_t)1 << 28)

static int map_page(int file, int seat, char *at, int protection)
{
    off_t offset = (off_t)(page_size * (size_t)seat);
    return mmap(at, page_size, protection, MAP_SHARED | MAP_FIXED, file, offset) != MAP_FAILED;
}

/* Maps everything; returns 0 if the machine refuses. */
static int make_views(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    int file = memfd_create("uno", MFD_CLOEXEC);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *area = mmap(NULL, 2 * MAPPING_DISTANCE, PROT_NONE, flags, -1, 0);
    if (file < 0 || area == MAP_FAILED || ftruncate(file, (off_t)(SEATS * page_size)) != 0)
        return 0;
    for (int seat = 0; seat < SEATS; seat++) {
        char *readable = area + (size_t)(2 * seat + 1) * page_size, *writable = readable + MAPPING_DISTANCE;
        if (!map_page(file, seat, readable, PROT_READ) || !map_page(file, seat, writable, PROT_READ | PROT_WRITE))
            return 0;
        /* Not at the start of each page, else fields of four states would compete for the same cache lines. */
        size_t offset = (size_t)seat * 320;
        own[seat] = (GameState *)(writable + offset);
        shown[seat] = (const GameState *)(readable + offset);
    }
    close(file);
    copy_page = area + (2 * SEATS + 1) * page_size;
    return mprotect(copy_page, page_size, PROT_READ | PROT_WRITE) == 0;
}

/* Whether an address lies in a page of a read-only state, where only a write can fault. */
static int is_shown(const void *address)
{
    for (int seat = 0; seat < SEATS; seat++)
        if (((uintptr_t)address ^ (uintptr_t)shown[seat]) < page_size)
            return 1;
    return 0;
}

/* A private copy of a seat's state; nothing that was left on its page by an earlier call remains. */
static GameState *private_copy(int seat)
{
    GameState *copy = (GameState *)(copy_page + page_size - sizeof(GameState));
    memset(copy_page, 0, page_size - sizeof(GameState));
    memcpy(copy, shown[seat], sizeof(GameState));
    return copy;
}

static void clear_views(void)
{
    for (int seat = 0; seat < SEATS; seat++) {
        GameState *state = own[seat];
        memset(state->yourCards, 0, (size_t)state->yourNumberOfCards * sizeof(Card));
        memset(state->discardPile, 0, (size_t)state->numberOfDiscards * sizeof(Card));
        state->numberOfPlayers = SEATS;
        state->lastColourCalled = NONE;
        state->yourPosition = seat;
        state->yourNumberOfCards = 0;
        state->numberOfDiscards = 0;
        for (int other = 0; other < SEATS; other++)
            state->allPlayersColoursCalled[other] = NONE;
    }
}

static inline void put_card(Card *slot, const struct kind *kind)
{
    memcpy(slot, &kind->card, WIDE);
}

static inline void show_count(int seat, int count)
{
    own[seat]->yourNumberOfCards = count;
    for (int other = 0; other < SEATS; other++)
        own[other]->allPlayersCardsLeft[seat] = count;
}

static inline void show_discard(const struct kind *kind)
{
    int count = own[0]->numberOfDiscards;
    for (int seat = 0; seat < SEATS; seat++) {
        put_card(&own[seat]->discardPile[count], kind);
        own[seat]->numberOfDiscards = count + 1;
    }
}

/* Takes a card out of a hand of `count`; the later ones move down by one. */
static inline void take_card(Card *hand, int index, int count)
{
    /* Pieces this long move most hands in one go, and moving empty slots onto empty slots does no harm: the one
     * behind the last card clears the vacated one. Only near the end of the array would a piece reach out of it. */
    enum { PIECE = 128 };
    char *to = (char *)&hand[index], *end = (char *)&hand[count];
    if (count < MAX_CARDS - 1 - PIECE / (int)sizeof(Card)) {
        do {
            char piece[PIECE];
            memcpy(piece, to + sizeof(Card), PIECE);
            memcpy(to, piece, PIECE);
            to += PIECE;
        } while (to < end);
    } else {
        memmove(to, to + sizeof(Card), (size_t)(count - 1 - index) * sizeof(Card));
        memset(&hand[count - 1], 0, sizeof(Card));
    }
}

#endif
