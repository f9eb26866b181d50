/*
 * What stands between the referee and a bot's code: calls that come back whatever the bot does.
 *
 * A fault, an exit or a turn that lasts too long jumps to `rescue` with one of the events below. A first write
 * to the state is no fault of the bot: it is switched to private copies and the same call is made again.
 * Nothing here costs a call anything; a timer looks now and then whether the turn is still the same.
 *
 * The bots' rand() is defined here as well: a stream of its own for every game and seat.
 */
#ifndef UNO_GUARD_H
#define UNO_GUARD_H

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "game.h"

enum { STACK_BYTES = 8 << 20, BLOCKED_FACTOR = 20 };

static sigjmp_buf rescue;
static char signal_stack[64 << 10];
static int tick_ms, turn_limit_ms;

static _Noreturn void leave_turn(int event)
{
    siglongjmp(rescue, event);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (now.turn == 0) { /* between games: our own defect, let it show */
        signal(number, SIG_DFL);
        return;
    }
    struct player *player = now.players[now.seat];
    if (number == SIGSEGV && !player->writes && is_shown(info->si_addr)) {
        player->writes = 1;
        leave_turn(CALL_AGAIN);
    }
    leave_turn(CRASHED);
}

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* A turn is too long after `turn_limit_ms` of CPU. A bot that blocks uses none; it is known by the number of
 * ticks, of which a stopped or starved machine sees none either. */
static void on_tick(int number)
{
    static uint64_t game;
    static int turn, ticks;
    static int64_t since;
    (void)number;
    if (now.turn == 0 || now.turn != turn || now.game != game) {
        turn = now.turn;
        game = now.game;
        ticks = 0;
        since = cpu_ms();
        return;
    }
    ticks++;
    if (cpu_ms() - since >= turn_limit_ms || ticks >= BLOCKED_FACTOR * (turn_limit_ms / tick_ms + 1))
        leave_turn(TIMEOUT);
}

/* Signals, alternate stack, stack limit and timer; returns 0 if the machine refuses. */
static int make_guard(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct rlimit stack_limit;
    int good = sigaltstack(&stack, NULL) == 0 && getrlimit(RLIMIT_STACK, &stack_limit) == 0;
    stack_limit.rlim_cur = stack_limit.rlim_max < STACK_BYTES ? stack_limit.rlim_max : STACK_BYTES;
    good = good && setrlimit(RLIMIT_STACK, &stack_limit) == 0;
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++)
        good = good && sigaction(faults[index], &fault, NULL) == 0;
    tick_ms = turn_limit_ms < 200 ? (turn_limit_ms + 3) / 4 : 50;
    struct timeval every = {.tv_usec = 1000 * tick_ms};
    struct itimerval timer = {every, every};
    return good && sigaction(SIGALRM, &tick, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0;
}

static _Noreturn void leave_program(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

/* A bot that leaves has left its game, not the program. The C library's own start-up and end do not come by
 * here: they use names of their own. */
static _Noreturn void leave(int code)
{
    if (now.turn == 0)
        leave_program(code);
    leave_turn(EXITED);
}

void exit(int code)
{
    leave(code);
}

void _exit(int code)
{
    leave(code);
}

void _Exit(int code)
{
    leave(code);
}

void abort(void)
{
    if (now.turn == 0)
        leave_program(134);
    leave_turn(CRASHED);
}

/* --- rand() --------------------------------------------------------------------------------------------- */

struct dice {
    uint64_t state, before; /* of the stream; `before` as it was when `turn` began */
    uint64_t game;
    int turn;
};

static struct dice dice[SEATS];

int rand(void)
{
    struct dice *mine = &dice[now.seat];
    if (mine->game != now.game) {
        mine->game = now.game;
        mine->state = seeds_next(now.seed, (uint64_t)now.seat);
        mine->turn = 0;
    }
    if (mine->turn != now.turn) {
        mine->turn = now.turn;
        mine->before = mine->state;
    }
    return (int)(seeds_stream(&mine->state) >> 33);
}

/* The stream of a game and a seat is fixed, so a seed changes nothing. */
void srand(unsigned int seed)
{
    (void)seed;
}

/* Before a call is made again: what the first attempt took from rand() is put back. */
static void rewind_rand(void)
{
    struct dice *mine = &dice[now.seat];
    if (mine->game == now.game && mine->turn == now.turn)
        mine->state = mine->before;
}

#endif
