/* Cases from seeds; instance.py is the readable one. */
#ifndef POKER_GENERATE_H
#define POKER_GENERATE_H
#include "rules.h"

static uint32_t mulberry32(uint32_t *state)
{
    uint32_t value = *state += 0x6D2B79F5u;
    value = (value ^ value >> 15) * (value | 1);
    value ^= value + (value ^ value >> 7) * (value | 61);
    return value ^ value >> 14;
}

static void shuffle(uint32_t *state, uint8_t *items, int n)
{
    for (int i = 0; i < n; i++)
        items[i] = (uint8_t)i;
    for (int last = n - 1; last > 0; last--) {
        /* floor(next() * (last + 1)) with next() = number / 2**32 */
        int chosen = (int)((uint64_t)mulberry32(state) * (uint64_t)(last + 1) >> 32);
        uint8_t item = items[last];
        items[last] = items[chosen];
        items[chosen] = item;
    }
}

static void generate(const struct ruleset *rules, uint32_t seed, struct game *game)
{
    memset(game, 0, sizeof *game);
    for (int round = 0; round < rules->rounds; round++)
        shuffle(&seed, game->orders[round], DECK);
    for (int shop = 0; shop < rules->rounds - 1; shop++) {
        uint8_t names[MOST_OFFERS];
        shuffle(&seed, names, rules->modifiers);
        memcpy(game->queues[shop], names, (size_t)rules->queue);
    }
}

#endif
