/*
 * Level `wasm`: bots that no pointer leads out of their own memory.
 *
 * Each bot has an instance for each seat, and each instance a linear memory of its own. An address in it has 32 bits,
 * so an access lands somewhere in the 8 GiB that are set aside for it, of which only these are there:
 *
 *   from the second page   the stack, BOT_STACK bytes, growing down; a null pointer and an overflow fault
 *   above it               constants, read-only
 *   STATE_PLACE            the page of the seat's state, read-only: the very memory of views.h, mapped once more
 *   COPY_PLACE             a page for private copies of it, for a bot that writes
 *
 * Between two calls a bot can keep nothing but what lies dead on its stack.
 */
#ifndef UNO_WASM_H
#define UNO_WASM_H

#include "unit.h"
#include "views.h"

#ifdef UNO_WASM

#include "call.h"
#include "wasm-rt.h"

enum { COPY_PLACE = 24 << 20, LINEAR_BYTES = 32 << 20, MODULE_BYTES = 8 << 20 };

/* All that 32 bits and an offset of 32 bits can reach, and what keeps two instances from competing for the same lines
 * of the first cache: the same place of two memories never has the same lower 28 bits (MAPPING_DISTANCE). */
#define LINEAR_DISTANCE (((size_t)8 << 30) + MAPPING_DISTANCE + (128 << 10))

struct instance {
    _Alignas(16) char module[INSTANCE_BYTES];
    char *memory;
    uint32_t *stack;      /* its stack pointer */
    uint32_t state, copy; /* offsets */
};

static char *next_memory;

static char *bot_memory(const struct instance *instance, uint32_t offset)
{
    return instance->memory + offset;
}

/* As if no call had been made, but for what lies dead on the stack: a call may have been left by a jump, or by code
 * that puts the stack pointer where it likes. */
static inline void settle(struct instance *instance)
{
    *instance->stack = BOT_STACK;
}

#ifdef UNO_WIPE
static void wipe(struct instance *instance)
{
    memset(bot_memory(instance, (uint32_t)page_size), 0, BOT_STACK - page_size);
    memset(bot_memory(instance, COPY_PLACE), 0, page_size);
}
#endif

/* Sets aside the memories of `count` instances; returns 0 if the machine refuses. */
static int make_linear_area(int count)
{
    size_t size = (size_t)count * LINEAR_DISTANCE + 2 * (size_t)MAPPING_DISTANCE;
    char *area = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    next_memory = area + (-(uintptr_t)area & (MAPPING_DISTANCE - 1));
    return area != MAP_FAILED;
}

/* Makes the instance in which a bot plays at a seat; returns 0 if the machine refuses. */
static int make_instance(struct instance *instance, const struct unit *unit, int seat)
{
    char *memory = next_memory;
    size_t constants = BOT_STACK, end;
    instance->memory = memory;
    instance->state = (uint32_t)(((uintptr_t)own(seat) - (uintptr_t)memory) & (MAPPING_DISTANCE - 1));
    instance->copy = COPY_PLACE + (uint32_t)(page_size - sizeof(GameState));
    unit->make(instance->module); /* asks for its memory with the function below */
    end = (size_t)(next_memory - memory);
    next_memory = memory + LINEAR_DISTANCE;
    instance->stack = unit->stack(instance->module);
    return end >= constants && instance->state > end && mprotect(memory, page_size, PROT_NONE) == 0 &&
           mprotect(memory + constants, end - constants, PROT_READ) == 0 &&
           mprotect(memory + COPY_PLACE, page_size, PROT_READ | PROT_WRITE) == 0 &&
           map_page(seat, memory + instance->state, PROT_READ);
}

/* --- what the modules' code asks for (wasm-rt.h) ----------------------------------------------------------- */

void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint64_t pages, uint64_t max_pages, bool is64, uint32_t page)
{
    size_t size = pages * page;
    if (size > MODULE_BYTES || mprotect(next_memory, size, PROT_READ | PROT_WRITE) != 0)
        size = 0; /* make_instance() refuses it */
    *memory = (wasm_rt_memory_t){.data = (uint8_t *)next_memory,
                                 .data_end = (uint8_t *)next_memory + LINEAR_BYTES,
                                 .page_size = page,
                                 .pages = pages,
                                 .max_pages = max_pages,
                                 .size = LINEAR_BYTES,
                                 .is64 = is64};
    next_memory += size;
}

/* No bot gets more. */
uint64_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint64_t pages)
{
    (void)memory, (void)pages;
    return UINT32_MAX;
}

void wasm_rt_free_memory(wasm_rt_memory_t *memory)
{
    (void)memory;
}

bool wasm_rt_is_initialized(void)
{
    return true;
}

void wasm_rt_trap(wasm_rt_trap_t trap)
{
    (void)trap;
    abort(); /* of guard.h */
}

/* --- what bots may call ------------------------------------------------------------------------------------- */

struct w2c_env;

uint32_t w2c_env_rand(struct w2c_env *environment)
{
    (void)environment;
    return (uint32_t)rand();
}

void w2c_env_exit(struct w2c_env *environment, uint32_t code)
{
    (void)environment;
    exit((int)code);
}

void w2c_env_abort(struct w2c_env *environment)
{
    (void)environment;
    abort();
}

#endif

#endif
