/* Seeds in C: the same numbers as simfarm/core/seeds.py, which explains them. */
#ifndef SIMFARM_SEEDS_H
#define SIMFARM_SEEDS_H

#include <stdint.h>

#define SEEDS_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t seeds_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

/* The start of a chain; one seeds_next for every further part of the key. */
static inline uint64_t seeds_start(uint64_t seed)
{
    return seeds_mix(seed + SEEDS_GOLDEN);
}

static inline uint64_t seeds_next(uint64_t value, uint64_t part)
{
    return seeds_mix((value ^ seeds_mix(part + SEEDS_GOLDEN)) + SEEDS_GOLDEN);
}

/* derive(seed, part) of seeds.py */
static inline uint64_t seeds_derive(uint64_t seed, uint64_t part)
{
    return seeds_next(seeds_start(seed), part);
}

/* A stream: splitmix64 from the given state. */
static inline uint64_t seeds_stream(uint64_t *state)
{
    *state += SEEDS_GOLDEN;
    return seeds_mix(*state);
}

/* A number in [0, n), n > 0; the bias is below n / 2^64. */
static inline uint32_t seeds_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((unsigned __int128)seeds_stream(state) * n) >> 64);
}

#endif
