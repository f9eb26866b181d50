/*
 * The call to a bot: on a stack of its own, with guards at both ends.
 *
 * A frame that grows too deep meets the guard below, a smashed buffer the guard above; neither meets the referee's
 * own stack. All bots share the one stack, so that its few used lines stay in the cache. With -DUNO_WIPE it is
 * zero at every call; with -DUNO_OPEN (for benchmarks) bots run on the referee's stack.
 */
#ifndef UNO_CALL_H
#define UNO_CALL_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "unit.h"

enum { BOT_STACK = 256 << 10, BELOW_STACK = 16 << 20, ABOVE_STACK = 64 << 10 };

static char *bot_stack; /* its lowest byte */

/* Maps the stack; returns 0 if the machine refuses. */
static int make_stack(void)
{
    size_t size = BELOW_STACK + BOT_STACK + ABOVE_STACK;
    char *area = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return 0;
    bot_stack = area + BELOW_STACK;
    return mprotect(bot_stack, BOT_STACK, PROT_READ | PROT_WRITE) == 0;
}

/* Calls a bot: natively with its state, at level wasm with an instance and the place of the state in it. What lies
 * in memory is complete before and read anew afterwards: the call may end in a jump. */
static inline int call_bot(bot_function *play, void *first, uint32_t second)
{
#ifdef UNO_WIPE
    memset(bot_stack, 0, BOT_STACK);
#endif
#ifdef UNO_OPEN
    __asm__ volatile("" ::: "memory");
    int answer = play(first);
    (void)second;
    __asm__ volatile("" ::: "memory");
    return answer;
#elif defined __x86_64__
    int answer;
    char *top = bot_stack + BOT_STACK;
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[play]\n\t"
                     "movq %%rbx, %%rsp"
                     : "=a"(answer), "+D"(first), "+S"(second), [play] "+r"(play), [top] "+r"(top)
                     :
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15");
    return answer;
#elif defined __aarch64__
    register void *one __asm__("x0") = first;
    register uint32_t two __asm__("x1") = second;
    char *top = bot_stack + BOT_STACK;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[top]\n\t"
                     "blr %[play]\n\t"
                     "mov sp, x19"
                     : "+r"(one), "+r"(two)
                     : [play] "r"(play), [top] "r"(top)
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "x18", "x19", "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
                       "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    return (int)(intptr_t)one;
#else
#error "the walls know x86-64 and 64-bit ARM"
#endif
}

#endif
