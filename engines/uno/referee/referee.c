/*
 * The UNO referee: plays a range of games between the bots it is linked with and writes a record for each.
 *
 *   program SEED FIRST START STOP SEGMENT SHARED TURN_LIMIT_MS MAX_TURNS UNITS SEATINGS [NAME...]
 *
 * FIRST to STOP are the blocks to play, of which those before START leave no record. UNITS names by a digit
 * for each bot which function of `ring` plays it. SEATINGS holds four digits for each seating, seat by seat.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "audit.h"
#include "warden.h"

enum { RECORDS = 8192, NOBODY = 255 };

/* records.py reads this layout. */
struct record {
    uint8_t seating, first_seat, right, winner, termination, fault, reshuffles, unused;
    uint16_t points, turns, penalties[SEATS];
};

static struct {
    uint64_t seed, start, stop, segment;
    int shared, seatings;
    const char *units, *seats;
    uint64_t block; /* of the game that is played */
    int seating;    /* of the game that is played */
    int disqualified, fault; /* whether a bot is out for the rest of the segment, and which */
    struct player bots[SEATS];
} job SHARED;

static struct {
    size_t count;
    struct record list[RECORDS];
} records SHARED;

static _Noreturn void fail(const char *what)
{
    char text[200];
    put(error_file, text, (size_t)snprintf(text, sizeof text, "uno referee: %s: %s\n", what, strerror(errno)));
    leave_program(2);
}

static void write_records(void)
{
    put(record_file, records.list, records.count * sizeof *records.list);
    records.count = 0;
}

static int bot_at(int seat)
{
    return job.seats[SEATS * job.seating + seat] - '0';
}

static void start_game(void)
{
    int seat;
    int segment_starts = job.shared ? job.seating == 0 : job.block % job.segment == 0;
    if (segment_starts) {
        int bot;
        job.disqualified = 0;
        for (bot = 0; bot < SEATS; bot++)
            job.bots[bot].score = 0;
    }
    for (seat = 0; seat < SEATS; seat++)
        now.players[seat] = &job.bots[bot_at(seat)];
#ifdef UNO_TRACE
    if (job.block >= job.start) {
        trace.on = 1;
        TRACE("block %llu, seating %d:", (unsigned long long)job.block, job.seating);
        for (seat = 0; seat < SEATS; seat++)
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
        int seat;
        struct record *record = &records.list[records.count++];
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
        for (seat = 0; seat < SEATS; seat++) {
            record->penalties[seat] = (uint16_t)now.penalties[seat];
            if (termination >= FORFEITED && bot_at(seat) == job.fault)
                record->fault = (uint8_t)seat;
        }
        if (records.count == RECORDS)
            write_records();
    }
    job.seating++;
    if (!job.shared || job.seating == job.seatings) {
        job.block++;
        job.seating = job.shared ? 0 : (int)(job.block % (uint64_t)job.seatings);
    }
}

/* The bot on turn has done what ends its game. */
static void finish_badly(int event)
{
    static const char *const verbs[] = {[TIMEOUT] = "times out", [EXITED] = "exits", [CRASHED] = "crashes",
                                        [FORBIDDEN] = "does what is forbidden"};
    (void)verbs;
    TRACE_TURN();
    TRACE("%s: the game ends\n", verbs[event]);
    TRACE_STATE();
    finish_game(event);
}

static void play_blocks(void)
{
    int event = sigsetjmp(rescue, 0);
    if (event == CALL_AGAIN) {
        rewind_rand();
        finish_game(play_turns());
    } else if (event != 0) {
        finish_badly(event);
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

/* The process that plays: everything that is left of the job. It ends with the one that waits for it. */
static _Noreturn void play_locked(pid_t waiting)
{
    static char print_buffer[BUFSIZ];
    /* What bots print goes nowhere, and without a call that the walls refuse. */
    setvbuf(stdout, print_buffer, _IOFBF, sizeof print_buffer);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || nowhere < 0 || getppid() != waiting || dup2(nowhere, 1) != 1 ||
        dup2(nowhere, 2) != 2 || !make_guard())
        fail("cannot start");
#ifdef UNO_OPEN
    (void)lock_down;
#else
    if (!lock_down())
        fail("this machine cannot lock a program in (it takes seccomp filters and /proc)");
#endif
    play_blocks();
    leave_program(0);
}

/* Players one after another until all is played; a further one only where the one before was killed by a bot. */
static void play_watched(void)
{
    pid_t waiting = getpid();
    while (job.block < job.stop) {
        int deaf, event;
        pid_t player = fork();
        if (player == 0)
            play_locked(waiting);
        if (player < 0)
            fail("cannot start a process");
        int status = watch(player, &deaf);
        if (WIFEXITED(status) && now.turn == 0) {
            if (WEXITSTATUS(status) != 0)
                leave_program(WEXITSTATUS(status));
        } else if ((event = blame(status, deaf)) != COMPLETED) {
            finish_badly(event);
        } else {
            errno = 0;
            fail("the process that plays was killed from outside");
        }
    }
#ifdef UNO_TRACE
    write_trace();
#else
    write_records();
#endif
}

static const struct unit *unit_of(int bot)
{
    return &ring[job.units[bot] - '0'];
}

static int make_bots(void)
{
    int good = make_stack();
#ifdef UNO_WASM
    int bot, seat;
    good = good && make_linear_area(SEATS * SEATS);
    for (bot = 0; bot < SEATS; bot++)
        for (seat = 0; seat < SEATS; seat++)
            good = good && make_instance(&job.bots[bot].at[seat], unit_of(bot), seat);
#endif
    return good;
}

int main(int count, char **arguments)
{
    int bot;
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
    job.units = arguments[9];
    for (bot = 0; bot < SEATS; bot++) {
        job.bots[bot].play = unit_of(bot)->play;
        job.bots[bot].name = count > 11 + bot ? arguments[11 + bot] : "";
    }
    job.seats = arguments[10];
    job.seatings = (int)(strlen(job.seats) / SEATS);
    job.seating = job.shared ? 0 : (int)(job.block % (uint64_t)job.seatings);
    make_cards();
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    record_file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    error_file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (record_file < 0 || error_file < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !share_memory() ||
        !make_views() || !make_bots())
        fail("cannot start");
    play_watched();
    leave_program(0);
}
