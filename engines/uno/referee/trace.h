/* Two ways to compile the same referee again: with -DUNO_TRACE it writes every move for people to read, with
 * -DUNO_CHECK it goes over the whole table before every turn. Without them nothing of either is left. */
#ifndef UNO_TRACE_H
#define UNO_TRACE_H

#include "proj2.h"
#include "walls.h"

#ifdef UNO_TRACE
#include <stdarg.h>

static struct {
    int on; /* whether anybody wants to see the games */
    size_t length;
    char text[1 << 16];
} trace SHARED;

static void write_trace(void)
{
    put(record_file, trace.text, trace.length);
    trace.length = 0;
}

/* A line is a few thousand characters at most: a hand of 108 cards. */
static __attribute__((format(printf, 1, 2))) void trace_print(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    trace.length += (size_t)vsnprintf(trace.text + trace.length, sizeof trace.text - trace.length, format, values);
    va_end(values);
    if (trace.length > sizeof trace.text / 2)
        write_trace();
}

static const char *colour_name(int colour)
{
    static const char *const names[] = {"red", "green", "blue", "yellow", "wild"};
    return names[colour / RED - 1];
}

static void trace_card(const char *before, Card card)
{
    static const char *const types[] = {"", "skip", "reverse", "+2", "", "+4"};
    if (card.type == NUMBER)
        trace_print("%s%s %d", before, colour_name(card.colour), card.value);
    else
        trace_print("%s%s%s%s", before, colour_name(card.colour), *types[card.type] ? " " : "", types[card.type]);
}

static void trace_turn(void);
static void trace_state(void);
static void trace_draw(int seat, int count);

#define TRACE(...) ((void)(trace.on && (trace_print(__VA_ARGS__), 0)))
#define TRACE_CARD(before, card) ((void)(trace.on && (trace_card(before, card), 0)))
#define TRACE_TURN() ((void)(trace.on && (trace_turn(), 0)))
#define TRACE_STATE() ((void)(trace.on && (trace_state(), 0)))
#define TRACE_DRAW(seat, count) ((void)(trace.on && (trace_draw(seat, count), 0)))

#else

#define TRACE(...) ((void)0)
#define TRACE_CARD(before, card) ((void)0)
#define TRACE_TURN() ((void)0)
#define TRACE_STATE() ((void)0)
#define TRACE_DRAW(seat, count) ((void)0)

#endif

#ifdef UNO_CHECK
static void check_table(void);
#define CHECK_TABLE() check_table()
#else
#define CHECK_TABLE() ((void)0)
#endif

#endif
