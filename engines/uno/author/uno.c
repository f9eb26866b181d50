/*
 * Plays a ring of four bots with the arena's own referee and prints what came out (README.md).
 *
 *   uno [GAMES [SEED]]          points, shares, margins and their sigma
 *   uno-log [GAME [SEED]]       every move of one game, where this was built with -DUNO_TRACE
 *
 * Who plays is told when it is built: -DRING=one,two,three,four, the bots' aliases.
 */
#define main referee_main
#include "referee.c"
#undef main

#include <inttypes.h>
#include <math.h>

#ifndef RING
#error "say who plays: -DRING=mybot,sparring_points,sparring_tempo,sparring_colour"
#endif

#define EACH(what, ring) EACH_OF(what, ring)
#define EACH_OF(what, a, b, c, d) what(a) what(b) what(c) what(d)
#define DECLARE(alias) bot_function alias##_Play;
#define UNIT(alias) {alias##_Play},
#define NAME(alias) #alias,

EACH(DECLARE, RING)
const struct unit ring[] = {EACH(UNIT, RING)};
static const char *const names[SEATS] = {EACH(NAME, RING)};

enum { SEGMENT = 2400, ENDS = FORBIDDEN + 1 };
#ifdef UNO_TRACE
enum { TRACED = 1 };
#else
enum { TRACED = 0 };
#endif
enum { TURN_LIMIT_MS = 1000, MAX_TURNS = 10000 };

static struct {
    uint64_t games, turns, unfinished;
    uint64_t points[SEATS], squares[SEATS], wins[SEATS], penalties[SEATS], first_penalty[SEATS];
    uint64_t faults[SEATS][ENDS], first_fault[SEATS];
} sum; /* by bot, in the order of RING */

/* All 24 orders of four bots, the first in alphabetical order of their places; `seats` gets 4 digits for each. */
static void list_seatings(char *seats)
{
    int a, b, c;
    for (a = 0; a < 4; a++)
        for (b = 0; b < 4; b++)
            for (c = 0; c < 4; c++) {
                int d = 6 - a - b - c;
                if (a == b || a == c || b == c)
                    continue;
                seats += sprintf(seats, "%d%d%d%d", a, b, c, d);
            }
}

/* The referee with the arguments that the arena gives it (referee.c); its output goes to standard output. */
static int run_referee(uint64_t seed, uint64_t start, uint64_t stop)
{
    int place, bot;
    static char seats[4 * 24 + 1], numbers[8][24];
    uint64_t values[] = {seed, start / SEGMENT * SEGMENT, start, stop, SEGMENT, 0, TURN_LIMIT_MS, MAX_TURNS};
    static char *arguments[11 + SEATS] = {"uno"};
    list_seatings(seats);
    for (place = 0; place < 8; place++) {
        sprintf(numbers[place], "%" PRIu64, values[place]);
        arguments[1 + place] = numbers[place];
    }
    arguments[9] = "0123";
    arguments[10] = seats;
    for (bot = 0; bot < SEATS; bot++)
        arguments[11 + bot] = (char *)names[bot];
    return referee_main(11 + SEATS, arguments);
}

static void count_game(const struct record *record, const char *seats)
{
    int seat;
    uint64_t game = sum.games++;
    sum.turns += record->turns;
    for (seat = 0; seat < SEATS; seat++) {
        int bot = seats[SEATS * record->seating + seat] - '0';
        if (record->penalties[seat] > 0 && sum.penalties[bot] == 0)
            sum.first_penalty[bot] = game;
        sum.penalties[bot] += record->penalties[seat];
        if (record->winner == seat) {
            sum.points[bot] += record->points;
            sum.squares[bot] += (uint64_t)record->points * record->points;
            sum.wins[bot]++;
        }
        if (record->fault == seat) {
            if (record->termination != FORFEITED && sum.first_fault[bot] == 0)
                sum.first_fault[bot] = game + 1;
            sum.faults[bot][record->termination]++;
        }
    }
    sum.unfinished += record->winner == NOBODY;
}

/* The spread of a weighted sum of the bots' shares: games are independent, and in each one bot scores. */
static double sigma(const double *weights, double value, double total)
{
    int bot;
    double squares = 0;
    for (bot = 0; bot < SEATS; bot++)
        squares += (weights[bot] - value) * (weights[bot] - value) * (double)sum.squares[bot];
    return sum.games < 2 ? 0 : 100 * sqrt((double)sum.games / (double)(sum.games - 1) * squares) / total;
}

static void print_summary(uint64_t seed, double seconds)
{
    int bot;
    static const char *const ends[ENDS] = {[FORFEITED] = "games forfeited after a fault", [TIMEOUT] = "timeout",
                                           [EXITED] = "exited", [CRASHED] = "crashed", [FORBIDDEN] = "forbidden"};
    double total = 0;
    for (bot = 0; bot < SEATS; bot++)
        total += (double)sum.points[bot];
    printf("%" PRIu64 " games, seed %" PRIu64 ", %.1f turns a game, %.0f games/s\n", sum.games, seed,
           (double)sum.turns / (double)sum.games, (double)sum.games / seconds);
    printf("margin: a bot's share of all points less that of %s, in percentage points\n\n", names[0]);
    printf("%-24s %12s %10s %9s %9s %10s %9s %8s %9s\n", "bot", "points", "wins", "share %", "error pp", "margin pp",
           "sigma pp", "z", "penalties");
    for (bot = 0; bot < SEATS; bot++) {
        double own[SEATS] = {0}, over[SEATS] = {0};
        double share = total > 0 ? (double)sum.points[bot] / total : 0;
        double margin = total > 0 ? ((double)sum.points[bot] - (double)sum.points[0]) / total : 0;
        own[bot] = 1;
        over[bot] = 1;
        over[0] -= 1;
        printf("%-24s %12" PRIu64 " %10" PRIu64 " %9.4f %9.4f", names[bot], sum.points[bot], sum.wins[bot],
               100 * share, total > 0 ? sigma(own, share, total) : 0);
        double spread = total > 0 ? sigma(over, margin, total) : 0;
        if (bot == 0)
            printf(" %10s %9s %8s", "-", "-", "-");
        else
            printf(" %+10.4f %9.4f %+8.2f", 100 * margin, spread, spread > 0 ? 100 * margin / spread : 0);
        printf(" %9" PRIu64 "\n", sum.penalties[bot]);
    }
    if (sum.unfinished > 0)
        printf("\n%" PRIu64 " games had no winner\n", sum.unfinished);
    for (bot = 0; bot < SEATS; bot++) {
        int end;
        if (sum.penalties[bot] > 0)
            printf("\n%s is ineligible: its first penalty is in game %" PRIu64 "\n", names[bot], sum.first_penalty[bot]);
        if (sum.first_fault[bot] > 0)
            printf("\n%s is ineligible: its first fault is in game %" PRIu64 "\n", names[bot], sum.first_fault[bot] - 1);
        for (end = 0; end < ENDS; end++)
            if (ends[end] && sum.faults[bot][end] > 0)
                printf("    %s: %" PRIu64 "\n", ends[end], sum.faults[bot][end]);
    }
}

static double now_seconds(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Reads the records of a referee that runs in a process of its own; returns 0 if it did not play all games. */
static int play_games(uint64_t games, uint64_t seed)
{
    static struct record list[4096];
    static char seats[4 * 24 + 1];
    int ends[2], status;
    if (pipe(ends) != 0)
        return 0;
    pid_t child = fork();
    if (child < 0)
        return 0;
    if (child == 0) {
        close(ends[0]);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        return run_referee(seed, 0, games) == 0;
    }
    close(ends[1]);
    list_seatings(seats);
    size_t held = 0;
    ssize_t got;
    while ((got = read(ends[0], (char *)list + held, sizeof list - held)) > 0) {
        size_t place;
        held += (size_t)got;
        size_t whole = held / sizeof *list;
        for (place = 0; place < whole; place++)
            count_game(&list[place], seats);
        held -= whole * sizeof *list;
        memmove(list, &list[whole], held);
    }
    close(ends[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && sum.games == games;
}

/* A whole number; returns 0 if the text is none, or is below `least` or above `most`. */
static int read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && *number >= least && *number <= most;
}

int main(int count, char **arguments)
{
    const uint64_t blocks = UINT64_C(1) << 32;
    uint64_t number = TRACED ? 0 : 1000000, seed = 1, least = TRACED ? 0 : 1;
    if (count > 3 || (count > 1 && !read_number(arguments[1], least, blocks - 1 + least, &number)) ||
        (count > 2 && !read_number(arguments[2], 0, INT64_MAX, &seed))) {
        fputs(TRACED ? "usage: uno-log [GAME [SEED]]: the number of a game from 0 on, and a seed below 2^63\n"
                     : "usage: uno [GAMES [SEED]]: 1 to 2^32 games, and a seed below 2^63\n",
              stderr);
        return 2;
    }
    if (TRACED)
        return run_referee(seed, number, number + 1);
    double started = now_seconds();
    if (!play_games(number, seed)) {
        fputs("uno: the games were not played to their end\n", stderr);
        return 2;
    }
    print_summary(seed, now_seconds() - started);
    return 0;
}
