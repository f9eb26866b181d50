/* The checker's fast half: outputs and lists of moves judged, cases made, plays scored. Bound in kernel.py. */
#include "generate.h"
#include "parse.h"
#include "rules.h"

struct verdict {
    int64_t total;
    int32_t status; /* enum status of the first mistake, or LEGAL */
    int32_t move;   /* index of the first mistake; of a valid output the number of moves */
    int32_t cleared, rounds; /* rounds begun */
    struct round_end ends[MOST_ROUNDS];
};

static void conclude(const struct run *run, struct verdict *verdict)
{
    verdict->rounds = run->ended;
    if (run->phase == IN_ROUND) {
        note_round(run, 0, 0);
        verdict->rounds++;
    }
    verdict->total = verdict->status == LEGAL ? run->total : 0;
    verdict->cleared = verdict->status == LEGAL ? run->cleared : 0;
}

/* Judge the bytes of an output. Lines are taken one by one; nothing after the first mistake is read. */
void poker_check(const struct ruleset *rules, const struct words *words, const struct game *game, const char *text,
                 int64_t length, struct verdict *verdict)
{
    struct run run;
    struct move move;
    start_run(&run, rules, game, verdict->ends);
    verdict->status = UNPARSABLE;
    verdict->move = 0;
    const char *end = text + length, *line = text, *stop = line_end(line, end);
    int64_t count = read_count(line, stop);
    if (count >= 0) {
        line = stop < end ? stop + 1 : end;
        end = without_blanks(line, end);
        enum status status = LEGAL;
        int64_t index = 0;
        for (; index < count && line < end && status == LEGAL; index++) {
            stop = line_end(line, end);
            status = read_move(words, line, stop, &move);
            if (status == LEGAL)
                status = apply(&run, &move);
            line = stop + 1;
        }
        if (status != LEGAL)
            index--;
        else if (index < count || line < end)
            status = UNPARSABLE;
        verdict->status = status;
        verdict->move = (int32_t)index;
    }
    conclude(&run, verdict);
}

/* Judge n lists of moves from memory: list i is moves[starts[i]] to moves[starts[i + 1]], played in games[i]. */
void poker_replay(const struct ruleset *rules, const struct game *games, const struct move *moves,
                  const int64_t *starts, int64_t n, struct verdict *verdicts)
{
    for (int64_t i = 0; i < n; i++) {
        struct run run;
        struct verdict *verdict = &verdicts[i];
        start_run(&run, rules, &games[i], verdict->ends);
        verdict->status = LEGAL;
        int64_t at = starts[i];
        for (; at < starts[i + 1]; at++)
            if ((verdict->status = apply(&run, &moves[at])) != LEGAL)
                break;
        verdict->move = (int32_t)(at - starts[i]);
        conclude(&run, verdict);
    }
}

/* Make the cases of n seeds. */
void poker_generate(const struct ruleset *rules, const uint32_t *seeds, int64_t n, struct game *games)
{
    for (int64_t i = 0; i < n; i++)
        generate(rules, seeds[i], &games[i]);
}

/* Score n plays, each in a situation of its own; for tests. */
struct play {
    uint8_t faces[MOST_CARDS], count, owned[MOST_OWNED], owned_count;
    int32_t levels[TYPES], plays_made, discards_left, money;
};

void poker_score(const struct ruleset *rules, const struct play *plays, int64_t n, int64_t *points, int32_t *types)
{
    for (int64_t i = 0; i < n; i++) {
        const struct play *play = &plays[i];
        struct situation now = {play->levels,     play->owned,         play->owned_count,
                                play->plays_made, play->discards_left, play->money};
        points[i] = score(rules, play->faces, play->count, &now, &types[i]);
    }
}
