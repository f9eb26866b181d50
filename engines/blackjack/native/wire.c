/* Requests, pipes and replies; see wire.h. */
#include "wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const rank_names[RANKS] = {"A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"};
static const char suit_names[] = "SHDC";
static const char *const action_names[UNKNOWN] = {
    [STAND] = "STAND", [HIT] = "HIT", [DOUBLE] = "DOUBLE", [SPLIT] = "SPLIT",
    [BET] = "BET", [INSURANCE] = "INSURANCE", [NO_INSURANCE] = "NO_INSURANCE",
};

struct wire *wire_new(int32_t decks)
{
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        return NULL;
    struct table *table = &wire->table;
    table->rules.decks = decks;
    table->size = decks * DECK;
    table->cards = malloc((size_t)table->size);
    table->laid = malloc((size_t)table->size);
    /* the table's constant parts, each seat's own (its name six times), and each hand at its largest */
    size_t most = 2 * RULES_BYTES + MAX_SEATS * (6 * NAME_BYTES + 512 + 2 * MAX_SPLIT * (160 + MAX_CARDS * 32));
    wire->request = malloc(most);
    if (!table->cards || !table->laid || !wire->request) {
        wire_free(wire);
        return NULL;
    }
    return wire;
}

void wire_free(struct wire *wire)
{
    for (int i = 0; i < MAX_SEATS; i++)
        free(wire->pipes[i].times);
    free(wire->table.cards);
    free(wire->table.laid);
    free(wire->request);
    free(wire);
}

/* Writers: each appends and returns the new end. */

#define PUT(end, literal) (memcpy(end, literal, sizeof literal - 1), (end) + sizeof literal - 1)

static char *put(char *end, const char *text)
{
    size_t length = strlen(text);
    memcpy(end, text, length);
    return end + length;
}

static char *put_number(char *end, int64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *end++ = digits[--count];
    return end;
}

static char *put_halves(char *end, int64_t halves)
{
    end = put_number(end, halves / 2);
    return halves % 2 ? PUT(end, ".5") : PUT(end, ".0");
}

static char *put_card(char *end, int card)
{
    end = PUT(end, "{\"rank\":\"");
    end = put(end, rank_names[card / 4]);
    end = PUT(end, "\",\"suit\":\"");
    *end++ = suit_names[card % 4];
    return PUT(end, "\"}");
}

static char *put_hand_id(char *end, const struct table *table, const struct seat *seat, int index)
{
    end = put_number(end, table->game_id);
    *end++ = '-';
    end = put_number(end, seat->number);
    *end++ = '-';
    return put_number(end, index);
}

static char *put_hands(char *end, const struct table *table, const struct seat *seat)
{
    for (int h = 0; h < seat->hand_count; h++) {
        const struct hand *hand = &seat->hands[h];
        if (h)
            *end++ = ',';
        end = PUT(end, "{\"hand_id\":\"");
        end = put_hand_id(end, table, seat, h);
        end = PUT(end, "\",\"wager\":");
        end = put_number(end, hand->wager);
        end = hand->is_split ? PUT(end, ".0,\"is_split_hand\":1,") : PUT(end, ".0,\"is_split_hand\":0,");
        end = hand->completed ? PUT(end, "\"is_completed\":1,") : PUT(end, "\"is_completed\":0,");
        end = PUT(end, "\"cards\":[");
        for (int i = 0; i < hand->count; i++) {
            if (i)
                *end++ = ',';
            end = put_card(end, hand->cards[i]);
        }
        end = PUT(end, "]}");
    }
    return end;
}

static char *put_legal(char *end, const struct table *table, const struct seat *seat)
{
    end = PUT(end, "\"legal_actions\":");
    if (table->phase == BETTING)
        return PUT(end, "[\"BET\"]");
    if (table->phase == INSURING)
        return PUT(end, "[\"INSURANCE\",\"NO_INSURANCE\"]");
    int legal = table_legal(table, seat, &seat->hands[table->hand_index], 0);
    end = legal & MAY_HIT ? PUT(end, "[\"HIT\",\"STAND\"") : PUT(end, "[\"STAND\"");
    if (legal & MAY_DOUBLE)
        end = PUT(end, ",\"DOUBLE\"");
    if (legal & MAY_SPLIT)
        end = PUT(end, ",\"SPLIT\"");
    *end++ = ']';
    return end;
}

static char *put_table(char *end, const struct wire *wire)
{
    const struct table *table = &wire->table;
    end = PUT(end, "\"table\":{\"num_seats\":");
    end = put_number(end, table->seated);
    end = PUT(end, ",\"seat_order\":[");
    for (int i = 0; i < table->seated; i++) {
        end = i ? PUT(end, ",{\"seat\":") : PUT(end, "{\"seat\":");
        end = put_number(end, i);
        end = PUT(end, ",\"bot_id\":");
        end = put(end, wire->pipes[table->order[i]].name);
        *end++ = '}';
    }
    end = PUT(end, "],\"balances\":{");
    for (int i = 0; i < table->bots; i++) {
        if (i)
            *end++ = ',';
        end = put(end, wire->pipes[i].name);
        *end++ = ':';
        end = put_halves(end, table->seats[i].balance);
    }
    end = PUT(end, "},\"active_bots\":[");
    char *first = end;
    for (int i = 0; i < table->seated; i++) {
        if (table->seats[table->order[i]].terminated)
            continue;
        if (end != first)
            *end++ = ',';
        end = put(end, wire->pipes[table->order[i]].name);
    }
    end = PUT(end, "],\"terminated_bots\":[");
    for (int i = 0; i < table->terminated; i++) {
        if (i)
            *end++ = ',';
        end = put(end, wire->pipes[table->gone[i]].name);
    }
    end = PUT(end, "],\"current_bets\":{");
    first = end;
    for (int i = 0; i < table->seated; i++) {
        const struct seat *seat = &table->seats[table->order[i]];
        if (!seat->staked)
            continue;
        if (end != first)
            *end++ = ',';
        end = put(end, wire->pipes[table->order[i]].name);
        *end++ = ':';
        end = put_number(end, seat->staked);
        end = PUT(end, ".0");
    }
    end = PUT(end, "},\"hands\":[");
    first = end;
    for (int i = 0; i < table->seated; i++) {
        const struct seat *seat = &table->seats[table->order[i]];
        if (!seat->hand_count)
            continue;
        end = end == first ? PUT(end, "{\"seat\":") : PUT(end, ",{\"seat\":");
        end = put_number(end, i);
        end = PUT(end, ",\"hands\":[");
        end = put_hands(end, table, seat);
        end = PUT(end, "]}");
    }
    return PUT(end, "]},");
}

static char *put_shoe(char *end, const struct table *table)
{
    end = PUT(end, "\"shoe\":{\"cards_dealt_in_shoe\":");
    end = put_number(end, table->size - table->left);
    end = PUT(end, ",\"cards_remaining_in_shoe\":");
    end = put_number(end, table->left);
    end = PUT(end, ",\"reshuffle_at_dealt\":");
    end = put_number(end, table->rules.reshuffle_at);
    end = PUT(end, ",\"discard_rank_counts\":{");
    for (int rank = 0; rank < RANKS; rank++) {
        end = rank ? PUT(end, ",\"") : PUT(end, "\"");
        end = put(end, rank_names[rank]);
        end = PUT(end, "\":");
        end = put_number(end, table->discards[rank]);
    }
    end = PUT(end, "}},\"history\":{\"games_completed\":");
    end = put_number(end, table->games_completed);
    return PUT(end, ",\"recent_games\":[]},");
}

static char *put_you(char *end, const struct table *table, const struct seat *seat, const char *name)
{
    end = PUT(end, "\"you\":{\"bot_id\":");
    end = put(end, name);
    end = PUT(end, ",\"seat\":");
    end = put_number(end, seat->number);
    end = PUT(end, ",\"balance\":");
    end = put_halves(end, seat->balance);
    end = PUT(end, ",\"current_bet_total\":");
    end = put_number(end, seat->staked);
    end = PUT(end, ".0,\"current_hands\":[");
    end = put_hands(end, table, seat);
    return PUT(end, "]},");
}

static char *put_dealer(char *end, const struct table *table)
{
    if (!table->dealer_count)
        return PUT(end, "\"dealer\":{\"upcard\":null,\"hole_card_known\":0,\"cards_revealed\":[],\"peek_checked\":0,"
                        "\"has_blackjack\":0},");
    end = PUT(end, "\"dealer\":{\"upcard\":");
    end = put_card(end, table->dealer[0]);
    end = PUT(end, ",\"hole_card_known\":0,\"cards_revealed\":[");
    end = put_card(end, table->dealer[0]);
    end = table->peeked ? PUT(end, "],\"peek_checked\":1,") : PUT(end, "],\"peek_checked\":0,");
    return PUT(end, "\"has_blackjack\":0},");
}

static void write_request(struct wire *wire)
{
    static const char *const phases[] = {[BETTING] = "bet", [INSURING] = "insurance", [PLAYING] = "play"};
    struct table *table = &wire->table;
    const struct seat *seat = table_asked(table);
    const char *name = wire->pipes[table->order[table->turn]].name, *phase = phases[table->phase];
    char *end = PUT(wire->request, "{\"type\":\"action_request\",\"match_id\":");
    end = put(end, wire->match_id);
    end = PUT(end, ",\"game_id\":");
    end = put_number(end, table->game_id);
    end = PUT(end, ",\"bot_id\":");
    end = put(end, name);
    end = PUT(end, ",\"seat\":");
    end = put_number(end, seat->number);
    end = PUT(end, ",\"phase\":\"");
    end = put(end, phase);
    end = PUT(end, "\",\"st\":{\"rules\":");
    end = put(end, wire->rules);
    *end++ = ',';
    end = put_table(end, wire);
    end = put_shoe(end, table);
    end = put_you(end, table, seat, name);
    end = put_dealer(end, table);
    end = PUT(end, "\"decision\":{\"phase\":\"");
    end = put(end, phase);
    if (table->phase == PLAYING) {
        end = PUT(end, "\",\"hand_id\":\"");
        end = put_hand_id(end, table, seat, table->hand_index);
    }
    end = PUT(end, "\",");
    const char *legal = end;
    end = put_legal(end, table, seat);
    size_t legal_length = (size_t)(end - legal);
    *end++ = '}';
    if (table->phase == INSURING) {
        end = PUT(end, ",\"max_insurance\":");
        end = put_number(end, seat->bet / 2);
    }
    end = PUT(end, "},");
    memcpy(end, legal, legal_length);
    end += legal_length;
    if (table->phase == BETTING) {
        end = PUT(end, ",\"min_bet\":");
        end = put_number(end, table->rules.min_bet);
        end = PUT(end, ",\"max_bet\":");
        end = put_number(end, table->rules.max_bet);
    } else if (table->phase == INSURING) {
        end = PUT(end, ",\"max_insurance\":");
        end = put_number(end, seat->bet / 2);
    }
    end = PUT(end, ",\"time_budget_ms\":");
    end = put_number(end, wire->time_budget_ms);
    end = PUT(end, "}\n");
    wire->length = end - wire->request;
}

/* Readers: each returns the place behind what it expects, or NULL. All stay within a reply because they stop at its
 * newline, which stands in nothing that they expect. */

static const char *expect(const char *at, const char *text)
{
    if (at)
        for (; *text; text++)
            if (*at++ != *text)
                return NULL;
    return at;
}

static const char *expect_key(const char *at, const char *key, int spaced)
{
    at = expect(expect(at, key), ":");
    return spaced ? expect(at, " ") : at;
}

static const char *expect_comma(const char *at, int spaced)
{
    return expect(at, spaced ? ", " : ",");
}

static const char *expect_number(const char *at, int64_t *number)
{
    if (!at || *at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
        return NULL;
    *number = 0;
    for (int digits = 0; *at >= '0' && *at <= '9'; at++, digits++) {
        if (digits == 10)
            return NULL;
        *number = *number * 10 + *at - '0';
    }
    return at;
}

/* Whether the reply is the plain answer to the request, and if so which. */
static int read_reply(struct wire *wire)
{
    const struct table *table = &wire->table;
    const char *at = expect(wire->reply, "{\"type\":");
    int spaced = at && *at == ' ';
    int64_t game;
    at = expect(spaced ? at + 1 : at, "\"action_response\"");
    at = expect(expect_key(expect_comma(at, spaced), "\"match_id\"", spaced), wire->match_id);
    at = expect_number(expect_key(expect_comma(at, spaced), "\"game_id\"", spaced), &game);
    if (!at || game != table->game_id)
        return 0;
    at = expect(expect_key(expect_comma(at, spaced), "\"bot_id\"", spaced), wire->pipes[table->order[table->turn]].name);
    at = expect(expect_key(expect_comma(at, spaced), "\"action\"", spaced), "\"");
    if (!at)
        return 0;
    const char *rest = NULL;
    for (wire->action = 0; wire->action < UNKNOWN; wire->action++)
        if ((rest = expect(expect(at, action_names[wire->action]), "\"")))
            break;
    wire->amount = NO_AMOUNT;
    if (rest && *rest == ',')
        rest = expect_number(expect_key(expect_comma(rest, spaced), "\"amount\"", spaced), &wire->amount);
    rest = expect(rest, "}\n");
    return rest == wire->reply + wire->got && !(wire->action == BET && wire->amount == NO_AMOUNT);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int note_time(struct wire *wire, uint32_t nanoseconds)
{
    struct pipe *pipe = &wire->pipes[wire->table.order[wire->table.turn]];
    if (pipe->count == pipe->space) {
        uint32_t space = pipe->space ? 2 * pipe->space : 4096;
        uint32_t *times = realloc(pipe->times, space * sizeof *times);
        if (!times)
            return 0;
        pipe->times = times;
        pipe->space = space;
    }
    pipe->times[pipe->count++] = nanoseconds;
    return 1;
}

/* Ask the bot whose turn it is. Returns FINE with an answer, or an outcome for Python. */
static int ask(struct wire *wire)
{
    struct table *table = &wire->table;
    struct pipe *pipe = &wire->pipes[table->order[table->turn]];
    table_asked(table)->decisions++;
    write_request(wire);
    wire->got = wire->sent = 0;
    if (!pipe->direct)
        return ASK;
    int64_t sent = write(pipe->in, wire->request, (size_t)wire->length);
    wire->sent = sent < 0 ? 0 : sent;
    if (wire->sent != wire->length)
        return REST;
    wire->started = now();
    struct pollfd polled[2] = {{.fd = pipe->out, .events = POLLIN}, {.fd = pipe->err, .events = POLLIN}};
    if (poll(polled, 2, pipe->timeout_ms) != 1 || polled[0].revents != POLLIN)
        return WAIT;
    int64_t got = read(pipe->out, wire->reply, REPLY_BYTES);
    wire->got = got < 0 ? 0 : got;
    int64_t took = now() - wire->started;
    if (got <= 0 || wire->reply[wire->got - 1] != '\n'
        || memchr(wire->reply, '\n', (size_t)wire->got) != wire->reply + wire->got - 1)
        return WAIT;
    if (!note_time(wire, took > UINT32_MAX ? UINT32_MAX : (uint32_t)took) || !read_reply(wire))
        return READ;
    return FINE;
}

int wire_run(struct wire *wire, uint32_t games)
{
    struct table *table = &wire->table;
    for (;;) {
        if (!wire->pending) {
            uint32_t played = table->games_completed;
            if (table->phase == BETWEEN && played >= wire->games)
                return OVER;
            if (!table_advance(table)) {
                if (table->games_completed == played)
                    return OVER;
                if (--games == 0)
                    return PAUSED;
                continue;
            }
            wire->pending = 1;
        }
        int outcome = ask(wire);
        if (outcome != FINE)
            return outcome;
        if (!wire_answer(wire, wire->action, wire->amount))
            return FAULT;
    }
}

int wire_answer(struct wire *wire, int action, int64_t amount)
{
    wire->verdict = table_apply(&wire->table, action, amount);
    wire->pending = wire->verdict != FINE;
    return wire->verdict == FINE;
}

void wire_terminate(struct wire *wire)
{
    table_terminate(&wire->table);
    wire->pending = 0;
}

int64_t wire_size(void)
{
    return sizeof(struct wire);
}
