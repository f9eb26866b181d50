/* The game, as in table.py and shoe.py. */
#include "table.h"
#include "seeds.h"

#include <string.h>

static void shuffle(uint8_t *items, int count, uint64_t seed)
{
    for (; count > 1; count--) {
        uint32_t other = seeds_below(&seed, (uint32_t)count);
        uint8_t kept = items[count - 1];
        items[count - 1] = items[other];
        items[other] = kept;
    }
}

static void fill_shoe(struct table *table)
{
    int counts[DECK];
    for (int card = 0; card < DECK; card++)
        counts[card] = table->rules.decks;
    for (int i = 0; i < table->on_table; i++)
        counts[table->laid[i]]--;
    table->left = 0;
    for (int card = 0; card < DECK; card++)
        while (counts[card]-- > 0)
            table->cards[table->left++] = (uint8_t)card;
    shuffle(table->cards, table->left, seeds_derive(table->shoe_secret, table->shuffles++));
    memset(table->discards, 0, sizeof table->discards);
}

static uint8_t draw(struct table *table)
{
    if (table->left == 0)
        fill_shoe(table);
    uint8_t card = table->cards[--table->left];
    table->laid[table->on_table++] = card;
    return card;
}

static void add_card(struct hand *hand, uint8_t card)
{
    hand->cards[hand->count++] = card;
    hand->hard += (uint8_t)card_value(card);
    hand->ace |= card < 4;
}

static struct hand *new_hand(struct hand *hand, int64_t wager)
{
    memset(hand, 0, sizeof *hand);
    hand->wager = wager;
    return hand;
}

static int is_natural(const struct hand *hand)
{
    return hand->hard == 11 && hand->ace && hand->count == 2 && !hand->is_split;
}

static void pay(struct table *table, struct seat *seat, int64_t halves)
{
    seat->balance += halves;
    table->bank -= halves;
}

static void stake(struct table *table, struct seat *seat, int64_t coins)
{
    seat->staked += coins;
    seat->wagered += coins;
    pay(table, seat, -2 * coins);
}

struct seat *table_asked(struct table *table)
{
    return &table->seats[table->order[table->turn]];
}

static int begin_game(struct table *table)
{
    uint8_t order[MAX_SEATS];
    for (int i = 0; i < table->bots; i++)
        order[i] = (uint8_t)i;
    shuffle(order, table->bots, seeds_derive(table->order_secret, table->games_completed));
    table->seated = 0;
    for (int i = 0; i < table->bots; i++) {
        struct seat *seat = &table->seats[order[i]];
        if (seat->terminated || seat->balance < 2 * table->rules.min_bet)
            continue;
        seat->number = table->seated;
        seat->bet = seat->staked = seat->insurance = 0;
        seat->hand_count = 0;
        table->order[table->seated++] = order[i];
    }
    if (table->size - table->left >= table->rules.reshuffle_at)
        fill_shoe(table);
    table->game_id = table->games_completed + 1;
    table->dealer_count = 0;
    table->peeked = 0;
    return table->seated;
}

static void end_game(struct table *table)
{
    for (int i = 0; i < table->on_table; i++)
        table->discards[table->laid[i] / 4]++;
    table->on_table = 0;
    table->games_completed++;
    table->phase = BETWEEN;
}

static int deal(struct table *table)
{
    int playing = 0;
    for (int i = 0; i < table->seated; i++) {
        struct seat *seat = &table->seats[table->order[i]];
        if (seat->terminated)
            continue;
        struct hand *hand = new_hand(&seat->hands[0], seat->bet);
        add_card(hand, draw(table));
        add_card(hand, draw(table));
        hand->completed = table->rules.natural_completes && is_natural(hand);
        seat->hand_count = 1;
        playing++;
    }
    if (playing)
        while (table->dealer_count < 2)
            table->dealer[table->dealer_count++] = draw(table);
    return playing;
}

static void settle_blackjack(struct table *table)
{
    for (int i = 0; i < table->seated; i++) {
        struct seat *seat = &table->seats[table->order[i]];
        if (seat->terminated)
            continue;
        pay(table, seat, 6 * seat->insurance);
        for (int h = 0; h < seat->hand_count; h++)
            if (is_natural(&seat->hands[h]))
                pay(table, seat, 2 * seat->hands[h].wager);
    }
}

static int dealer_total(struct table *table)
{
    struct hand hand;
    new_hand(&hand, 0);
    add_card(&hand, table->dealer[0]);
    add_card(&hand, table->dealer[1]);
    for (;;) {
        int total = hand_total(&hand), soft = total != hand.hard;
        if (total > 17 || (total == 17 && !(soft && table->rules.dealer_hits_soft_17)))
            return total;
        table->dealer[table->dealer_count] = draw(table);
        add_card(&hand, table->dealer[table->dealer_count++]);
    }
}

static void settle(struct table *table)
{
    int live = 0;
    for (int i = 0; i < table->seated; i++) {
        const struct seat *seat = &table->seats[table->order[i]];
        for (int h = 0; h < seat->hand_count; h++)
            live |= seat->hands[h].hard <= 21;
    }
    int dealer = live ? dealer_total(table) : 0;
    for (int i = 0; i < table->seated; i++) {
        struct seat *seat = &table->seats[table->order[i]];
        for (int h = 0; h < seat->hand_count; h++) {
            const struct hand *hand = &seat->hands[h];
            const struct rules *rules = &table->rules;
            int total = hand_total(hand);
            if (is_natural(hand))
                pay(table, seat,
                    2 * hand->wager + (int64_t)((__int128)rules->payout_num * hand->wager / rules->payout_den));
            else if (total <= 21 && (dealer > 21 || total > dealer))
                pay(table, seat, 4 * hand->wager);
            else if (total <= 21 && total == dealer)
                pay(table, seat, 2 * hand->wager);
        }
    }
}

int table_legal(const struct table *table, const struct seat *seat, const struct hand *hand, int rich)
{
    const struct rules *rules = &table->rules;
    int legal = hand->from_aces && !rules->hit_split_aces ? 0 : MAY_HIT;
    if (hand->count != 2 || !(rich || seat->balance >= 2 * hand->wager))
        return legal;
    int total = hand_total(hand);
    if (total >= rules->double_least && total <= rules->double_most && !hand->from_aces
        && (!hand->is_split || rules->double_after_split))
        legal |= MAY_DOUBLE;
    int first = hand->cards[0], second = hand->cards[1];
    int pair = rules->split_by_value ? card_value(first) == card_value(second) : first / 4 == second / 4;
    if (pair && seat->hand_count < rules->split_max_hands && (!hand->from_aces || rules->resplit_aces)) {
        int hands = 0;
        for (int i = 0; i < table->seated; i++)
            hands += table->seats[table->order[i]].hand_count;
        if (hands < rules->max_hands)
            legal |= MAY_SPLIT;
    }
    return legal;
}

/* From turn and hand_index on: the next hand that waits for a decision. */
static int next_hand(struct table *table)
{
    for (; table->turn < table->seated; table->turn++, table->hand_index = 0) {
        struct seat *seat = table_asked(table);
        for (; table->hand_index < seat->hand_count; table->hand_index++) {
            struct hand *hand = &seat->hands[table->hand_index];
            if (!hand->completed && table_legal(table, seat, hand, 0))
                return 1;
            hand->completed = 1;
        }
    }
    return 0;
}

static int next_seat(struct table *table)
{
    while (table->turn < table->seated && table_asked(table)->terminated)
        table->turn++;
    return table->turn < table->seated;
}

int table_advance(struct table *table)
{
    switch (table->phase) {
    case BETWEEN:
        if (!begin_game(table))
            return 0;
        table->phase = BETTING;
        table->turn = 0;
        return 1;
    case BETTING:
        table->turn++;
        if (next_seat(table))
            return 1;
        if (!deal(table)) {
            table->phase = BETWEEN;
            return 0;
        }
        table->turn = -1;
        table->phase = INSURING;
        if (table->dealer[0] >= 4 || !table->rules.insurance_allowed)
            table->turn = table->seated;
        /* fall through */
    case INSURING:
        table->turn++;
        if (next_seat(table))
            return 1;
        int up = card_value(table->dealer[0]);
        table->peeked = up == 1 || up == 10;
        if (table->peeked && up + card_value(table->dealer[1]) == 11) {
            settle_blackjack(table);
            end_game(table);
            return 0;
        }
        table->phase = PLAYING;
        table->turn = table->hand_index = 0;
        /* fall through */
    default:
        if (next_hand(table))
            return 1;
        settle(table);
        end_game(table);
        return 0;
    }
}

static int take_bet(struct table *table, struct seat *seat, int64_t amount)
{
    const struct rules *rules = &table->rules;
    if (rules->clamp) {
        amount = amount < rules->min_bet ? rules->min_bet : amount;
        amount = amount > rules->max_bet ? rules->max_bet : amount;
        amount = amount > seat->balance / 2 ? seat->balance / 2 : amount;
    }
    if (amount < rules->min_bet || amount > rules->max_bet)
        return ILLEGAL;
    if (amount > seat->balance / 2)
        return UNAFFORDABLE;
    seat->bet = amount;
    seat->games++;
    stake(table, seat, amount);
    return FINE;
}

static int take_insurance(struct table *table, struct seat *seat, int64_t amount)
{
    int64_t most = seat->bet / 2;
    if (amount == NO_AMOUNT || amount == 0)
        amount = most;
    if (table->rules.clamp) {
        amount = amount < 0 ? 0 : amount;
        amount = amount > most ? most : amount;
        amount = amount > seat->balance / 2 ? seat->balance / 2 : amount;
    }
    if (amount < 0 || amount > most)
        return ILLEGAL;
    if (amount > seat->balance / 2)
        return UNAFFORDABLE;
    seat->insurance = amount;
    pay(table, seat, -2 * amount);
    return FINE;
}

static void split(struct table *table, struct seat *seat, struct hand *hand)
{
    const struct rules *rules = &table->rules;
    stake(table, seat, hand->wager);
    uint8_t firsts[2] = {hand->cards[0], hand->cards[1]};
    struct hand *halves[2] = {hand, &seat->hands[seat->hand_count++]};
    for (int i = 0; i < 2; i++) {
        struct hand *half = new_hand(halves[i], hand->wager);
        add_card(half, firsts[i]);
        add_card(half, draw(table));
        half->is_split = 1;
        half->from_aces = firsts[0] < 4;
        if (half->from_aces && !rules->hit_split_aces)
            half->completed = !(rules->resplit_aces && half->cards[1] < 4);
        else
            half->completed = rules->twenty_one_completes && hand_total(half) == 21;
    }
}

static int take_play(struct table *table, struct seat *seat, int action)
{
    static const int needs[] = {[HIT] = MAY_HIT, [DOUBLE] = MAY_DOUBLE, [SPLIT] = MAY_SPLIT};
    struct hand *hand = &seat->hands[table->hand_index];
    if (action > SPLIT)
        return ILLEGAL;
    if (action == STAND) {
        hand->completed = 1;
        return FINE;
    }
    if (!(table_legal(table, seat, hand, 0) & needs[action]))
        return table_legal(table, seat, hand, 1) & needs[action] ? UNAFFORDABLE : ILLEGAL;
    if (action == SPLIT) {
        split(table, seat, hand);
        return FINE;
    }
    if (action == DOUBLE) {
        stake(table, seat, hand->wager);
        hand->wager *= 2;
        hand->completed = 1;
    }
    add_card(hand, draw(table));
    if (hand->hard > 21 || (table->rules.twenty_one_completes && hand_total(hand) == 21))
        hand->completed = 1;
    return FINE;
}

int table_apply(struct table *table, int action, int64_t amount)
{
    struct seat *seat = table_asked(table);
    switch (table->phase) {
    case BETTING:
        return action == BET ? take_bet(table, seat, amount) : ILLEGAL;
    case INSURING:
        if (action == NO_INSURANCE)
            return FINE;
        return action == INSURANCE ? take_insurance(table, seat, amount) : ILLEGAL;
    default:
        return take_play(table, seat, action);
    }
}

void table_terminate(struct table *table)
{
    struct seat *seat = table_asked(table);
    table->gone[table->terminated++] = table->order[table->turn];
    seat->terminated = table->terminated;
    pay(table, seat, -seat->balance);
    seat->staked = 0;
    seat->hand_count = 0;
}
