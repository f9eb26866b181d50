/* drandom: the random example bot of the statement (section Examples).
 *
 * Bets 5 to 10, declines insurance, and takes each of the actions that a play request offers with the same chance.
 * It scans requests for what it needs instead of parsing them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

/* A whole number below n, each with the same chance (to within 2^-56). */
static int below(int n) { /* splitmix64 */
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
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
        if (!strncmp(phase, "\"bet\"", 5)) {
            answer(line, "BET", 5 + below(6));
        } else if (!strncmp(phase, "\"insurance\"", 11)) {
            answer(line, "NO_INSURANCE", 0);
        } else {
            static const char *const all[] = {"HIT", "STAND", "DOUBLE", "SPLIT"};
            const char *offered[4] = {"STAND"};
            int count = 0;
            for (int i = 0; i < 4; i++) {
                char quoted[16];
                snprintf(quoted, sizeof quoted, "\"%s\"", all[i]);
                if (strstr(legal, quoted)) offered[count++] = all[i];
            }
            answer(line, offered[count ? below(count) : 0], 0);
        }
    }
    free(line);
    return 0;
}
