/* What the program is linked with: the bots, natively or as modules of WebAssembly that were turned into C. */
#ifndef UNO_UNIT_H
#define UNO_UNIT_H

#include <stdint.h>

#include "proj2.h"

#ifdef UNO_WASM

/* A module's instances are of some size up to this; the code of each module asserts it. */
enum { INSTANCE_BYTES = 256 };

typedef uint32_t bot_function(void *instance, uint32_t state);

struct unit {
    bot_function *play;                      /* `state` is an offset in the instance's memory */
    void (*make)(void *instance);            /* gives it its memory (wasm.h) with constants in it */
    uint32_t *(*stack)(void *instance);      /* where it keeps its stack pointer */
};

#else

typedef int bot_function(GameState *state);

struct unit {
    bot_function *play;
};

#endif

extern const struct unit ring[];

#endif
