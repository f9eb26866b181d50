/*
 * The UNO referee: plays a range of games between the bots it is linked with and writes a record for each.
 *
 *   program SEED FIRST START STOP SEGMENT SHARED TURN_LIMIT_MS MAX_TURNS UNITS SEATINGS [NAME...]
 *
 * FIRST to STOP are the blocks to play, of which those before START leave no record. UNITS names by a digit
 * for each bot which function of ring.h plays it. SEATINGS holds four digits for each seating, seat by seat.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

#include "audit.h"
#include "ring.h"

enum { RECORDS = 8192, NOBODY = 255 };

/* records.py reads this layout. */
struct record {
    uint8_t seating, first_seat, right, winner, termination, fault, reshuffles, unused;
    uint16_t points, turns, penalties[SEATS];
};

static struct {
    uint64_t seed, start, stop, segment;
    int shared, seatings;
    const char *seats;
    uint64_t block; /* of the game that is played */
    int seating;    /* of the game that is played */
    int disqualified, fault; /* whether a bot is out for the rest of the segment, and which */
    struct player bots[SEATS];
} job;

static struct record records[RECORDS];
static size_t record_count;
static int record_file;

static void fail(const char *what)
{
    fprintf(stderr, "uno referee: %s: %s\n", what, strerror(errno));
    fflush(stderr);
    leave_program(2);
}

static void write_records(void)
{
    const char *data = (const char *)records;
    for (size_t left = record_count * sizeof *records; left > 0;) {
        ssize_t written = write(record_file, data, left);
        if (written < 0 && errno != EINTR)
            leave_program(2); /* nobody reads any more */
        if (written > 0) {
            data += written;
            left -= (size_t)written;
        }
    }
    record_count = 0;
}

static int bot_at(int seat)
{
    return job.seats[SEATS * job.seating + seat] - '0';
}

static void start_game(void)
{
    int segment_starts = job.shared ? job.seating == 0 : job.block % job.segment == 0;
    if (segment_starts) {
        job.disqualified = 0;
        for (int bot = 0; bot < SEATS; bot++)
            job.bots[bot].score = 0;
    }
    for (int seat = 0; seat < SEATS; seat++)
        now.players[seat] = &job.bots[bot_at(seat)];
#ifdef UNO_TRACE
    if (job.block >= job.start) {
        trace_file = trace_file ? trace_file : fdopen(record_file, "w");
        TRACE("block %llu, seating %d:", (unsigned long long)job.block, job.seating);
        for (int seat = 0; seat < SEATS; seat++)
            TRACE(" seat %d %s%s", seat, now.players[seat]->name, seat < SEATS - 1 ? "," : "\n");
    }
#endif
    deal(seeds_next(job.seed, job.block));
}

/* Records the end of the game and goes on to the next; the seat in `now` has won or is at fault. */
static void finish_game(int termination)
{
    int turns = now.turn, won = termination == COMPLETED;
    now.turn = 0; /* between games, see guard.h */
    if (won && !job.shared)
        now.players[now.seat]->score += now.points;
    if (termination > FORFEITED) {
        job.disqualified = 1;
        job.fault = (int)(now.players[now.seat] - job.bots);
    }
    if (job.block >= job.start) {
        struct record *record = &records[record_count++];
        *record = (struct record){
            .seating = (uint8_t)job.seating,
            .winner = won ? (uint8_t)now.seat : NOBODY,
            .termination = (uint8_t)termination,
            .fault = NOBODY,
            .reshuffles = now.reshuffles < 255 ? (uint8_t)now.reshuffles : 255,
            .points = won ? (uint16_t)now.points : 0,
            .turns = (uint16_t)turns,
            .first_seat = (uint8_t)now.first_seat,
            .right = (uint8_t)now.first_right,
        };
        for (int seat = 0; seat < SEATS; seat++) {
            record->penalties[seat] = (uint16_t)now.penalties[seat];
            if (termination >= FORFEITED && bot_at(seat) == job.fault)
                record->fault = (uint8_t)seat;
        }
        if (record_count == RECORDS)
            write_records();
    }
    job.seating++;
    if (!job.shared || job.seating == job.seatings) {
        job.block++;
        job.seating = job.shared ? 0 : (int)(job.block % (uint64_t)job.seatings);
    }
}

static void play_blocks(void)
{
    int event = sigsetjmp(rescue, 0);
    if (event == CALL_AGAIN) {
        rewind_rand();
        finish_game(play_turns());
    } else if (event != 0) {
        TRACE_TURN();
        TRACE("%s: the game ends\n", event == TIMEOUT ? "times out" : event == EXITED ? "exits" : "crashes");
        finish_game(event);
    }
    while (job.block < job.stop) {
        start_game();
        if (job.disqualified) {
            TRACE("not played: a bot is disqualified since an earlier game\n");
            finish_game(FORFEITED);
        } else {
            now.turn = 1;
            finish_game(play_turns());
        }
    }
}

/* The records leave by a descriptor of their own; what bots print goes nowhere. */
static int move_output(void)
{
    int nowhere = open("/dev/null", O_RDWR);
    record_file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return nowhere >= 0 && record_file >= 0 && dup2(nowhere, 0) == 0 && dup2(nowhere, 1) == 1;
}

int main(int count, char **arguments)
{
    if (count < 11)
        fail("arguments are missing");
    job.seed = seeds_start(strtoull(arguments[1], NULL, 10));
    job.block = strtoull(arguments[2], NULL, 10);
    job.start = strtoull(arguments[3], NULL, 10);
    job.stop = strtoull(arguments[4], NULL, 10);
    job.segment = strtoull(arguments[5], NULL, 10);
    job.shared = atoi(arguments[6]);
    turn_limit_ms = atoi(arguments[7]);
    max_turns = atoi(arguments[8]);
    for (int bot = 0; bot < SEATS; bot++) {
        job.bots[bot].play = ring[arguments[9][bot] - '0'];
        job.bots[bot].name = count > 11 + bot ? arguments[11 + bot] : "";
    }
    job.seats = arguments[10];
    job.seatings = (int)(strlen(job.seats) / SEATS);
    job.seating = job.shared ? 0 : (int)(job.block % (uint64_t)job.seatings);
    make_cards();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !make_views() || !move_output() || !make_guard())
        fail("cannot start");
    play_blocks();
#ifdef UNO_TRACE
    fflush(trace_file);
#else
    write_records();
#endif
    leave_program(0);
}
