/* A Brainfuck interpreter: brainfuck PROGRAM
 *
 * Cells are bytes that wrap. The tape begins at cell 0 and has CELLS cells; leaving it is an error. At the end of the
 * input "," stores 0. The program is turned into steps first: runs of + - < > are one step each, and so are the
 * loops that clear a cell, seek a zero, or add multiples of a cell to others.
 */
#include <string.h>

#include "terminal.h"

#define CELLS (64u << 20)

enum Kind {
    ADD,      /* cell[at] += value */
    MOVE,     /* head += at */
    PUT,      /* write cell[at] */
    GET,      /* read cell[at] */
    OPEN,     /* if the cell is 0 go to step `target` */
    CLOSE,    /* if it is not 0 go to step `target` */
    SET,      /* cell[at] = value */
    SEEK,     /* move by `at` until the cell is 0 */
    MULTIPLY, /* cell[at] += value * cell[0]; nothing if cell[0] is 0 */
    END
};

struct Step {
    enum Kind kind;
    unsigned char value;
    int at;
    size_t target;
};

static struct Step *steps;
static size_t count, room;

static struct Step *emit(enum Kind kind, int at, unsigned char value) {
    if (count == room) {
        room = room ? 2 * room : 1024;
        steps = realloc(steps, room * sizeof *steps);
        if (!steps) terminal_die("the program is too long");
    }
    steps[count] = (struct Step){.kind = kind, .at = at, .value = value};
    return &steps[count++];
}

/* Replace the loop from step `open`, whose body ends at the last step, by fewer steps. 1 if it could be done. */
static int shorten(size_t open) {
    struct Step *body = steps + open + 1;
    size_t length = count - open - 1;
    int where = 0, moved = 0;
    unsigned char own = 0;
    for (size_t i = 0; i < length; i++) {
        if (body[i].kind == MOVE) {
            where += body[i].at;
            moved = 1;
        } else if (body[i].kind != ADD) {
            return 0;
        } else if (where == 0) {
            own += body[i].value;
        }
    }
    if (length == 1 && moved) {
        steps[open] = (struct Step){.kind = SEEK, .at = body[0].at};
        count = open + 1;
        return 1;
    }
    /* Only a counter that goes up or down by one surely ends the loop, and after as many rounds as the cell says. */
    if (where != 0 || (own != 255 && own != 1)) return 0;
    size_t to = open;
    for (size_t i = 0; i < length; i++) {
        if (body[i].kind == MOVE) where += body[i].at;
        else if (where != 0) {
            unsigned char value = own == 255 ? body[i].value : (unsigned char)-body[i].value;
            steps[to++] = (struct Step){.kind = MULTIPLY, .at = where, .value = value};
        }
    }
    steps[to++] = (struct Step){.kind = SET, .value = 0};
    count = to;
    return 1;
}

/* The length of the run of these two characters at `text`, comments included; their balance goes to *sum. */
static size_t run(const unsigned char *text, size_t length, char up, char down, int *sum) {
    size_t i, used = 0;
    *sum = 0;
    for (i = 0; i < length; i++) {
        if (text[i] == up) ++*sum, used = i + 1;
        else if (text[i] == down) --*sum, used = i + 1;
        else if (text[i] && strchr("+-<>.,[]", text[i])) break;
    }
    return used;
}

static void compile(const unsigned char *text, size_t length) {
    size_t *open = malloc((length + 1) * sizeof *open), depth = 0;
    int sum;
    if (!open) terminal_die("the program is too long");
    for (size_t i = 0; i < length; i++) {
        switch (text[i]) {
        case '+':
        case '-':
            i += run(text + i, length - i, '+', '-', &sum) - 1;
            if ((unsigned char)sum) emit(ADD, 0, (unsigned char)sum);
            break;
        case '>':
        case '<':
            i += run(text + i, length - i, '>', '<', &sum) - 1;
            if (sum) emit(MOVE, sum, 0);
            break;
        case '.': emit(PUT, 0, 0); break;
        case ',': emit(GET, 0, 0); break;
        case '[':
            open[depth++] = count;
            emit(OPEN, 0, 0);
            break;
        case ']':
            if (!depth) terminal_die("a ] closes no [");
            depth--;
            if (!shorten(open[depth])) {
                emit(CLOSE, 0, 0)->target = open[depth];
                steps[open[depth]].target = count - 1;
            }
        }
    }
    if (depth) terminal_die("a [ is never closed");
    free(open);
    emit(END, 0, 0);
}

static _Noreturn void off_tape(long long cell) {
    terminal_die("the head leaves the tape: cell %lld of 0 to %u", cell, CELLS - 1);
}

static void execute(void) {
    unsigned char *tape = calloc(CELLS, 1); /* pages come into being when they are touched */
    long long head = 0;
    int byte;
    if (!tape) terminal_die("no memory for the tape");
    for (const struct Step *step = steps;; step++) {
        switch (step->kind) {
        case ADD: tape[head] += step->value; break;
        case MOVE:
            head += step->at;
            if (head < 0 || head >= CELLS) off_tape(head);
            break;
        case PUT: terminal_put(tape[head]); break;
        case GET: tape[head] = (byte = terminal_get()) < 0 ? 0 : (unsigned char)byte; break;
        case OPEN:
            if (!tape[head]) step = steps + step->target;
            break;
        case CLOSE:
            if (tape[head]) step = steps + step->target;
            break;
        case SET: tape[head] = step->value; break;
        case SEEK:
            while (tape[head]) {
                head += step->at;
                if (head < 0 || head >= CELLS) off_tape(head);
            }
            break;
        case MULTIPLY:
            if (!tape[head]) break;
            if (head + step->at < 0 || head + step->at >= CELLS) off_tape(head + step->at);
            tape[head + step->at] += step->value * tape[head];
            break;
        case END: return;
        }
    }
}

int main(int argc, char **argv) {
    size_t length;
    if (argc != 2) terminal_die("usage: brainfuck PROGRAM");
    unsigned char *text = read_program(argv[1], &length);
    compile(text, length);
    free(text);
    execute();
    terminal_flush();
    return 0;
}
