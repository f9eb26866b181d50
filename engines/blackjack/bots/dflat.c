/* dflat: the flat example bot of the statement (section Examples).
 *
 * Bets 10, declines insurance, splits one time in five where it may, else doubles where it may, else hits where it
 * may, else stands. It scans requests for what it needs instead of parsing them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

static double uniform(void) { /* splitmix64 */
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* Where the value of the first `key` begins, at or after `text`. */
static const char *value_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return "";
    at += strlen(key);
    return at + strspn(at, " :\t");
}

/* Print one string of the request again, quotes included. */
static void echo_string(const char *value) {
    if (*value == '"') printf("\"%.*s\"", (int)strcspn(value + 1, "\""), value + 1);
    else printf("\"\"");
}

static void answer(const char *request, const char *action, int amount) {
    printf("{\"type\":\"action_response\",\"match_id\":");
    echo_string(value_of(request, "\"match_id\""));
    printf(",\"game_id\":%ld,\"bot_id\":", strtol(value_of(request, "\"game_id\""), NULL, 10));
    echo_string(value_of(request, "\"bot_id\""));
    printf(",\"action\":\"%s\",\"amount\":%d}\n", action, amount);
    fflush(stdout);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    const char *seed = getenv("SIMFARM_SEED");
    state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
    while (getline(&line, &room, stdin) > 0) {
        const char *phase = value_of(line, "\"phase\""), *legal = line, *next;
        while ((next = strstr(legal + 1, "\"legal_actions\""))) legal = next; /* the last, top-level list */
        int may_hit = strstr(legal, "\"HIT\"") != NULL;
        int may_double = strstr(legal, "\"DOUBLE\"") != NULL;
        int may_split = strstr(legal, "\"SPLIT\"") != NULL;
        if (!strncmp(phase, "\"bet\"", 5)) answer(line, "BET", 10);
        else if (!strncmp(phase, "\"insurance\"", 11)) answer(line, "NO_INSURANCE", 0);
        else if (may_split && uniform() < 0.2) answer(line, "SPLIT", 0);
        else if (may_double) answer(line, "DOUBLE", 0);
        else answer(line, may_hit ? "HIT" : "STAND", 0);
    }
    free(line);
    return 0;
}
