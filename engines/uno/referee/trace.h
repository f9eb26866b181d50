/* Two ways to compile the same referee again: with -DUNO_TRACE it writes every move for people to read, with
 * -DUNO_CHECK it goes over the whole table before every turn. Without them nothing of either is left. */
#ifndef UNO_TRACE_H
#define UNO_TRACE_H

#include "proj2.h"

#ifdef UNO_TRACE

static FILE *trace_file; /* NULL while nobody wants to see the games */

static const char *colour_name(int colour)
{
    static const char *const names[] = {"red", "green", "blue", "yellow", "wild"};
    return names[colour / RED - 1];
}

static void trace_card(const char *before, Card card)
{
    static const char *const types[] = {"", "skip", "reverse", "+2", "", "+4"};
    if (card.type == NUMBER)
        fprintf(trace_file, "%s%s %d", before, colour_name(card.colour), card.value);
    else
        fprintf(trace_file, "%s%s%s%s", before, colour_name(card.colour), *types[card.type] ? " " : "",
                types[card.type]);
}

static void trace_turn(void);
static void trace_draw(int seat, int count);

#define TRACE(...) ((void)(trace_file && fprintf(trace_file, __VA_ARGS__)))
#define TRACE_CARD(before, card) ((void)(trace_file && (trace_card(before, card), 0)))
#define TRACE_TURN() ((void)(trace_file && (trace_turn(), 0)))
#define TRACE_DRAW(seat, count) ((void)(trace_file && (trace_draw(seat, count), 0)))

#else

#define TRACE(...) ((void)0)
#define TRACE_CARD(before, card) ((void)0)
#define TRACE_TURN() ((void)0)
#define TRACE_DRAW(seat, count) ((void)0)

#endif

#ifdef UNO_CHECK
static void check_table(void);
#define CHECK_TABLE() check_table()
#else
#define CHECK_TABLE() ((void)0)
#endif

#endif
