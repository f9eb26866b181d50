/* The way to the bots and back: requests as protocol.py writes them, replies in the usual spellings of JSON. Whatever
 * is out of the ordinary is left to Python. */
#ifndef BLACKJACK_WIRE_H
#define BLACKJACK_WIRE_H

#include "table.h"

#include <stddef.h>

enum { NAME_BYTES = 512, RULES_BYTES = 1024, REPLY_BYTES = 65536 };

/* Why wire_run came back. */
enum outcome {
    OVER,    /* the match is over: games played, or nobody left */
    PAUSED,  /* so many games were played: time for signals */
    ASK,     /* ask the seat, nothing has been sent: its channel is not in order */
    REST,    /* `sent` bytes of the request are written, the rest does not fit yet */
    WAIT,    /* the request is written since `started`, `got` bytes of the reply are here */
    READ,    /* as WAIT, and the reply is a whole line that has to be read by Python */
    FAULT,   /* the answer was read and is against the rules: `verdict` */
};

struct pipe {
    int32_t in, out, err; /* file descriptors: to the bot, from the bot, its errors */
    int32_t direct;       /* whether the channel is in order: nothing buffered, no end of file */
    int32_t timeout_ms;   /* for a reply */
    char name[NAME_BYTES]; /* as JSON, quotes included */
    uint32_t *times;      /* nanoseconds of each reply */
    uint32_t count, space;
};

struct wire {
    struct table table;
    struct pipe pipes[MAX_SEATS]; /* by position */
    uint32_t games;
    int32_t time_budget_ms;
    char match_id[NAME_BYTES]; /* as JSON */
    char rules[RULES_BYTES];

    char *request; /* the last one, of `length` bytes */
    int64_t length, sent, got;
    int64_t started; /* nanoseconds of the monotonic clock */
    int32_t verdict, action, pending;
    int64_t amount;
    char reply[REPLY_BYTES];
};

/* A match that is ready to run, or NULL for want of memory; the caller fills in rules, secrets, bots, pipes, names and
 * games before the first wire_start. */
struct wire *wire_new(int32_t decks);
void wire_free(struct wire *wire);

/* Play at most `games` more games, or until Python is needed. After ASK, REST, WAIT and READ Python answers by
 * wire_answer or wire_terminate, after FAULT by wire_terminate. */
int wire_run(struct wire *wire, uint32_t games);
int wire_answer(struct wire *wire, int action, int64_t amount);
void wire_terminate(struct wire *wire);

/* Bytes of a struct wire, to compare with what fast.py believes. */
int64_t wire_size(void);

#endif
