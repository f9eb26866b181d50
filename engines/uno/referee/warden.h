/*
 * The warden: the process that starts the one that plays, and does nothing else but wait for it.
 *
 * Almost all that a bot does wrong is dealt with by the player itself (guard.h). This is for what kills it or makes
 * it deaf, a smashed signal stack for one: the table and the records lie in shared memory, so the warden sees whose
 * turn it was, ends the game in the same way, and starts a new player that goes on from there.
 */
#ifndef UNO_WARDEN_H
#define UNO_WARDEN_H

#include <sys/wait.h>

#include "guard.h"

enum { WATCH_MS = 250, DEAF_MS = 2000 };

static int64_t player_cpu_ms(pid_t player)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(player, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Waits for the player's end; kills it if it stays at one place although its own timer should have ended that turn
 * long ago. Returns its status; `deaf` tells whether it was killed here. Blocked: SIGCHLD. */
static int watch(pid_t player, int *deaf)
{
    uint64_t game = 0;
    int64_t since = 0;
    int turn = -1, status;
    sigset_t child;
    struct timespec pause = {.tv_nsec = WATCH_MS * 1000000L};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    *deaf = 0;
    while (waitpid(player, &status, WNOHANG) == 0) {
        int64_t used = player_cpu_ms(player);
        if (now.turn != turn || now.game != game) {
            turn = now.turn;
            game = now.game;
            since = used;
        } else if (used - since > 2 * (int64_t)turn_limit_ms + DEAF_MS) {
            *deaf = 1;
            kill(player, SIGKILL);
        }
        sigtimedwait(&child, NULL, &pause);
    }
    return status;
}

/* What the end of a player says of the bot on turn; COMPLETED if it says nothing. A signal that nothing inside the
 * player raises came from outside and is no bot's fault. */
static int blame(int status, int deaf)
{
    size_t index;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    if (now.turn < 1 || now.turn > max_turns || (unsigned int)now.seat >= SEATS || !WIFSIGNALED(status))
        return COMPLETED;
    if (deaf)
        return TIMEOUT;
    for (index = 0; index < sizeof faults / sizeof *faults; index++)
        if (WTERMSIG(status) == faults[index])
            return faults[index] == SIGSYS ? FORBIDDEN : CRASHED;
    return COMPLETED;
}

#endif
