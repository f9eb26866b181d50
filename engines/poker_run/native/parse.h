/* The text of an output: lines, words and moves; moves.py is the readable one. */
#ifndef POKER_PARSE_H
#define POKER_PARSE_H
#include "rules.h"

enum { WORD = 33 };

/* The words that a ruleset brings, each ended by a zero. */
struct words {
    char modifiers[MOST_OFFERS][WORD];
    char hands[TYPES][WORD];
    char suits[4][WORD];
    int32_t modifier_count;
};

static const char *const kind_words[KINDS] = {"play",  "discard", "end",    "buy",    "level",
                                              "paint", "promote", "remove", "reroll", "next"};

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static const char *line_end(const char *line, const char *end)
{
    const char *found = memchr(line, '\n', (size_t)(end - line));
    return found ? found : end;
}

static const char *without_blanks(const char *start, const char *end)
{
    while (end > start && (is_space(end[-1]) || end[-1] == '\n'))
        end--;
    return end;
}

/* The next word of a line: its start, and *stop behind it; null if there is none. */
static const char *next_word(const char *at, const char *end, const char **stop)
{
    while (at < end && is_space(*at))
        at++;
    *stop = at;
    while (*stop < end && !is_space(**stop))
        ++*stop;
    return at < end ? at : 0;
}

/* A plain decimal without sign and leading zeros, cut at 10**9; -1 if it is none. */
static int64_t read_number(const char *word, const char *stop)
{
    if (word == stop || (*word == '0' && stop - word > 1))
        return -1;
    int64_t value = 0;
    for (const char *c = word; c < stop; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        if (value < 1000000000)
            value = value * 10 + (*c - '0');
    }
    return value < 1000000000 ? value : 1000000000;
}

static int64_t read_count(const char *line, const char *end)
{
    const char *stop, *word = next_word(line, end, &stop), *more;
    return word && !next_word(stop, end, &more) ? read_number(word, stop) : -1;
}

static int find_word(const char *word, const char *stop, const char (*words)[WORD], int n)
{
    size_t length = (size_t)(stop - word);
    for (int i = 0; i < n; i++)
        if (strlen(words[i]) == length && !memcmp(words[i], word, length))
            return i;
    return -1;
}

static enum status read_move(const struct words *words, const char *line, const char *end, struct move *move)
{
    const char *starts[2 + MOST_CARDS], *stops[2 + MOST_CARDS], *at = line;
    int n = 0;
    while (n < 2 + MOST_CARDS && (starts[n] = next_word(at, end, &stops[n])))
        at = stops[n++];
    if (!n)
        return UNPARSABLE;
    int kind = 0;
    size_t length = (size_t)(stops[0] - starts[0]);
    while (kind < KINDS && (strlen(kind_words[kind]) != length || memcmp(kind_words[kind], starts[0], length)))
        kind++;
    static const int cards_of[KINDS] = {-1, -1, 0, 0, 0, 1, 1, 1, 0, 0};
    static const int which_of[KINDS] = {0, 0, 0, 1, 1, 1, 0, 0, 0, 0};
    if (kind == KINDS)
        return UNPARSABLE;
    int cards = cards_of[kind] < 0 ? n - 1 : cards_of[kind];
    if (n != 1 + cards + which_of[kind] || cards > MOST_CARDS || (cards_of[kind] < 0 && !cards))
        return UNPARSABLE;
    move->kind = (uint8_t)kind;
    move->count = (uint8_t)cards;
    move->which = 0;
    for (int i = 0; i < cards; i++) {
        int64_t card = read_number(starts[1 + i], stops[1 + i]);
        if (card < 0 || card >= DECK)
            return UNPARSABLE;
        move->cards[i] = (uint8_t)card;
    }
    if (which_of[kind]) {
        const char *word = starts[n - 1], *stop = stops[n - 1];
        int which = kind == BUY     ? find_word(word, stop, words->modifiers, words->modifier_count)
                    : kind == LEVEL ? find_word(word, stop, words->hands, TYPES)
                                    : find_word(word, stop, words->suits, 4);
        if (which < 0)
            return UNPARSABLE;
        move->which = (uint8_t)which;
    }
    return LEGAL;
}

#endif
