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

/* From one state to the next: a page that is large enough everywhere, and some lines more, else the same fields
 * of four states would compete for the same few cache lines. */
#define STATE_DISTANCE ((64 << 10) + 320)

/* From the writable mapping to the read-only one. Some processors guess the way of their first cache from the
 * lower bits of an address; were those unlike for the two addresses of a line, each use would be a wrong guess. */
#define MAPPING_DISTANCE (1 << 28)

/* Where the first state lies in a stretch of that length. */
#define STATE_PLACE (16 << 20)

static char *states;    /* writable; the others lie at the distances above */
static char *copy_page; /* holds one private copy for a bot that writes; holes on both sides */
static int view_file;   /* the memory behind the mappings */
static size_t page_size;

/* What a seat is shown, writable. */
static inline GameState *own(int seat)
{
    return (GameState *)(states + (ptrdiff_t)seat * STATE_DISTANCE);
}

/* The same, read-only: what a bot is given. */
static inline GameState *shown(int seat)
{
    return (GameState *)((char *)own(seat) + MAPPING_DISTANCE);
}

/* Maps the page of a seat's state once more, so that it lies at `state`; returns 0 if the machine refuses. */
static int map_page(int seat, void *state, int protection)
{
    char *page = (char *)((uintptr_t)state & ~(page_size - 1));
    off_t offset = (off_t)(page_size * (size_t)seat);
    return mmap(page, page_size, protection, MAP_SHARED | MAP_FIXED, view_file, offset) == page;
}

/* Maps everything; returns 0 if the machine refuses. */
static int make_views(void)
{
    int seat;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    view_file = memfd_create("uno", MFD_CLOEXEC);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *area = mmap(NULL, 3 * (size_t)MAPPING_DISTANCE, PROT_NONE, flags, -1, 0);
    if (view_file < 0 || area == MAP_FAILED || ftruncate(view_file, (off_t)(SEATS * page_size)) != 0)
        return 0;
    area += -(uintptr_t)area & (MAPPING_DISTANCE - 1);
    copy_page = area;
    states = area + STATE_PLACE;
    for (seat = 0; seat < SEATS; seat++)
        if (!map_page(seat, own(seat), PROT_READ | PROT_WRITE) || !map_page(seat, shown(seat), PROT_READ))
            return 0;
    return mprotect(copy_page, page_size, PROT_READ | PROT_WRITE) == 0;
}

/* Whether an address lies in the page of a state, which is mapped read-only there, so that only a write faults. */
static int is_in_page(const void *address, const void *state)
{
    return (((uintptr_t)address ^ (uintptr_t)state) & ~(page_size - 1)) == 0;
}

/* Makes a private copy of a seat's state at the end of a page; nothing that an earlier call left there remains. */
static GameState *make_copy(int seat, char *page)
{
    GameState *copy = (GameState *)(page + page_size - sizeof(GameState));
    memset(page, 0, page_size - sizeof(GameState));
    memcpy(copy, own(seat), sizeof(GameState));
    return copy;
}

static void clear_views(void)
{
    int seat;
    for (seat = 0; seat < SEATS; seat++) {
        int other;
        GameState *state = own(seat);
        memset(state->yourCards, 0, (size_t)state->yourNumberOfCards * sizeof(Card));
        memset(state->discardPile, 0, (size_t)state->numberOfDiscards * sizeof(Card));
        state->numberOfPlayers = SEATS;
        state->lastColourCalled = NONE;
        state->yourPosition = seat;
        state->yourNumberOfCards = 0;
        state->numberOfDiscards = 0;
        for (other = 0; other < SEATS; other++)
            state->allPlayersColoursCalled[other] = NONE;
    }
}

/* 16 bytes as one value. A card is copied as one, the last int zero: the slot behind a card that is appended is
 * empty, and 108 cards never lie in one place, so nothing beyond the slots is touched. */
typedef int piece __attribute__((vector_size(16), aligned(4), may_alias));

static const piece card_mask = {-1, -1, -1, 0};

static inline void put_card(Card *slot, piece card)
{
    *(piece *)slot = card;
}

static inline void show_count(int seat, int count)
{
    int other;
    own(seat)->yourNumberOfCards = count;
#pragma GCC unroll 4
    for (other = 0; other < SEATS; other++)
        own(other)->allPlayersCardsLeft[seat] = count;
}

static inline void show_discard(piece card)
{
    int seat;
    int count = own(0)->numberOfDiscards;
#pragma GCC unroll 4
    for (seat = 0; seat < SEATS; seat++) {
        put_card(&own(seat)->discardPile[count], card);
        own(seat)->numberOfDiscards = count + 1;
    }
}

/* Takes a card out of a hand of `count`; the later ones move down by one. */
static inline void take_card(Card *hand, int index, int count)
{
    /* Eight slots in one go are enough for most hands, and moving empty slots onto empty slots does no harm: the
     * one behind the last card clears the vacated one. Only near the array's end would this reach out of it. */
    Card *end = hand + count;
    if (count < MAX_CARDS - 12) {
        Card *to;
        for (to = hand + index; to < end; to += 8) {
            const piece *from = (const piece *)(to + 1);
            piece a = from[0], b = from[1], c = from[2], d = from[3], e = from[4], f = from[5];
            piece *at = (piece *)to;
            at[0] = a, at[1] = b, at[2] = c, at[3] = d, at[4] = e, at[5] = f;
        }
    } else {
        memmove(hand + index, hand + index + 1, (size_t)(count - 1 - index) * sizeof(Card));
        memset(end - 1, 0, sizeof(Card));
    }
}

#endif
