/*
 * What stands between the referee and a bot's code: calls that come back whatever the bot does.
 *
 * A fault, an exit, a refused system call or a turn that lasts too long jumps to `rescue` with an event of game.h. A
 * first write to the state is no fault of the bot: it is switched to private copies and the same call is made again.
 * Nothing here costs a call anything; a timer looks now and then whether the turn is still the same.
 *
 * The bots' rand() is defined here as well: a stream of its own for every game and seat.
 */
#ifndef UNO_GUARD_H
#define UNO_GUARD_H

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "game.h"

static sigjmp_buf rescue;
static char signal_stack[64 << 10];
static int tick_ms, turn_limit_ms;

static _Noreturn void leave_turn(int event)
{
    siglongjmp(rescue, event);
}

/* Whether a fault is an attempt to read the processor's clock, which is off. */
static int reads_counter(const siginfo_t *info, const ucontext_t *context)
{
#ifdef __x86_64__
    const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    return info->si_code == SI_KERNEL && code[0] == 0x0f && (code[1] == 0x31 || (code[1] == 0x01 && code[2] == 0xf9));
#else
    (void)info, (void)context;
    return 0;
#endif
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (now.turn == 0) /* between games: our own defect, let it show */
        leave_program(128 + number);
    struct player *player = now.players[now.seat];
    if (number == SIGSEGV && !player->writes && is_shown(info->si_addr)) {
        player->writes = 1;
        leave_turn(CALL_AGAIN);
    }
    if (number == SIGSYS || (number == SIGSEGV && (is_clock(info->si_addr) || reads_counter(info, context))))
        leave_turn(FORBIDDEN);
    leave_turn(CRASHED);
}

/* Comes at every `tick_ms` of CPU: a turn is too long after `turn_limit_ms` of it. Nothing can wait in here without
 * using any: every call that could is refused. */
static void on_tick(int number)
{
    static uint64_t game;
    static int turn, ticks;
    (void)number;
    if (now.turn == 0 || now.turn != turn || now.game != game) {
        turn = now.turn;
        game = now.game;
        ticks = 0;
        return;
    }
    if (++ticks * tick_ms >= turn_limit_ms)
        leave_turn(TIMEOUT);
}

/* Signals on a stack of their own, and the timer; returns 0 if the machine refuses. */
static int make_guard(void)
{
    size_t index;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct rlimit no_core = {0, 0};
    int good = sigaltstack(&stack, NULL) == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0;
    for (index = 0; index < sizeof faults / sizeof *faults; index++)
        good = good && sigaction(faults[index], &fault, NULL) == 0;
    tick_ms = turn_limit_ms < 200 ? (turn_limit_ms + 3) / 4 : 50;
    struct timeval every = {.tv_usec = 1000 * tick_ms};
    struct itimerval timer = {every, every};
    return good && sigaction(SIGPROF, &tick, NULL) == 0 && setitimer(ITIMER_PROF, &timer, NULL) == 0;
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

/* A buffer that was written beyond its end, where the compiler looks after that. */
void __stack_chk_fail(void)
{
    abort();
}

/* No clock, and no fault either: bots of old seed rand() with it. */
time_t time(time_t *result)
{
    if (result)
        *result = 0;
    return 0;
}

clock_t clock(void)
{
    return 0;
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
