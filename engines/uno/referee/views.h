/*
 * What the four seats are shown, kept up to date in place.
 *
 * Everything from `numberOfDiscards` on is the same for all seats, so the four GameStates share it: each lies
 * across two pages, its own one in front and the common one behind, and a played card is written once.
 *
 *     own page of seat s          common page
 *     ......[hand and the rest] [discards, card counts, colours, scores]......
 *           ^ GameState of s
 *
 * The pages are mapped twice. The referee plays on a writable mapping, bots are given addresses in a read-only
 * one with holes around every state: a write or a stray read faults (guard.h). Slots of hands and discards
 * that hold no card are zero at all times.
 */
#ifndef UNO_VIEWS_H
#define UNO_VIEWS_H

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proj2.h"

enum { SEATS = MAX_PLAYERS };

_Static_assert(sizeof(Card) == 12 && sizeof(GameState) == 2664, "GameState is packed ints");

#define COMMON_OFFSET offsetof(GameState, numberOfDiscards)

static GameState *own[SEATS];         /* writable; what differs between seats */
static GameState *common;             /* writable; discards, counts, colours, scores of all seats */
static const GameState *shown[SEATS]; /* read-only; what a bot is given */
static size_t page_size;
static char *copy_page; /* holes on both sides; holds one private copy for a bot that writes */

static char *map_pages(int file, size_t page, void *at, int protection)
{
    void *got = mmap(at, page_size, protection, MAP_SHARED | MAP_FIXED, file, (off_t)(page * page_size));
    return got == MAP_FAILED ? NULL : got;
}

/* Maps everything; returns 0 if the machine refuses. */
static int make_views(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    int file = memfd_create("uno", MFD_CLOEXEC);
    /* Per seat: own page, common page, and for the read-only ones a hole. Then the copy page and a hole. */
    size_t pages = 3 * SEATS + 3 + 2 * SEATS;
    char *area = mmap(NULL, pages * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || area == MAP_FAILED || ftruncate(file, (off_t)((SEATS + 1) * page_size)) != 0)
        return 0;
    for (size_t seat = 0; seat < SEATS; seat++) {
        char *readable = area + (3 * seat + 1) * page_size;
        char *writable = area + (3 * SEATS + 3 + 2 * seat) * page_size;
        if (!map_pages(file, seat, readable, PROT_READ) ||
            !map_pages(file, SEATS, readable + page_size, PROT_READ) ||
            !map_pages(file, seat, writable, PROT_READ | PROT_WRITE) ||
            !map_pages(file, SEATS, writable + page_size, PROT_READ | PROT_WRITE))
            return 0;
        shown[seat] = (const GameState *)(readable + page_size - COMMON_OFFSET);
        own[seat] = (GameState *)(writable + page_size - COMMON_OFFSET);
    }
    close(file);
    common = own[0];
    copy_page = area + (3 * SEATS + 1) * page_size;
    return mprotect(copy_page, page_size, PROT_READ | PROT_WRITE) == 0;
}

/* Whether an address lies in a page of a read-only state, where only a write can fault. */
static int is_shown(const void *address)
{
    for (int seat = 0; seat < SEATS; seat++) {
        const char *first = (const char *)shown[seat] + COMMON_OFFSET - page_size;
        if ((const char *)address >= first && (const char *)address < first + 2 * page_size)
            return 1;
    }
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
        memset(own[seat]->yourCards, 0, (size_t)own[seat]->yourNumberOfCards * sizeof(Card));
        own[seat]->numberOfPlayers = SEATS;
        own[seat]->lastColourCalled = NONE;
        own[seat]->yourPosition = seat;
        own[seat]->yourNumberOfCards = 0;
        common->allPlayersColoursCalled[seat] = NONE;
    }
    memset(common->discardPile, 0, (size_t)common->numberOfDiscards * sizeof(Card));
    common->numberOfDiscards = 0;
}

/* Takes a card out of a hand of `count`; the later ones move down by one. */
static inline void take_card(Card *hand, int index, int count)
{
    /* The slot behind the last card is zero, so moving one slot more also clears the vacated one. 16 bytes at
     * a time may move up to 12 zero bytes beyond; near the end of the array that would leave it. */
    char *to = (char *)&hand[index];
    if (count < MAX_CARDS - 3) {
        char *end = (char *)&hand[count];
        for (; to < end; to += 16) {
            char piece[16];
            memcpy(piece, to + sizeof(Card), 16);
            memcpy(to, piece, 16);
        }
    } else {
        memmove(to, to + sizeof(Card), (size_t)(count - 1 - index) * sizeof(Card));
        memset(&hand[count - 1], 0, sizeof(Card));
    }
}

#endif
