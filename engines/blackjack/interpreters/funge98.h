/* What Befunge-98 adds to Befunge-93, beyond one-liners: jumps, blocks, system information, fingerprints. */
#ifndef FUNGE98_H
#define FUNGE98_H

static void jump(Cell n) {
    Vector step = delta;
    position = (Vector){position.x + n * step.x, position.y + n * step.y};
    if (space_inside(position)) return;
    /* Going back over the edge enters from the other side, as going forward does. */
    if (n < 0) reflect();
    position = wrap_98(position);
    delta = step;
}

/* {: a new stack with the top n cells of the old one; the storage offset is kept on the old one. */
static void begin_block(void) {
    Cell n = pop();
    add_stack();
    struct Stack *under = top - 1;
    if (n > 0) transfer(under, top, n);
    for (; n < 0; n++) push_on(under, 0);
    push_vector_on(under, offset);
    offset = plus(position, delta);
}

/* }: back to the stack below, with the top n cells of this one. */
static void end_block(void) {
    if (stack_count == 1) {
        reflect();
        return;
    }
    Cell n = pop();
    struct Stack *under = top - 1;
    offset = pop_vector_from(under);
    if (n > 0) transfer(top, under, n);
    for (; n < 0 && under->count; n++) pop_from(under);
    drop_stack();
}

/* u: move n cells, one by one, from the stack below to this one; from this one to the one below if n < 0. */
static void stack_under_stack(void) {
    if (stack_count == 1) {
        reflect();
        return;
    }
    Cell n = pop();
    struct Stack *under = top - 1;
    for (; n > 0; n--) push(pop_from(under));
    for (; n < 0; n++) push_on(under, pop());
}

static void push_text(struct Stack *to, const char *text) {
    for (size_t i = strlen(text) + 1; i-- > 0;) push_on(to, (unsigned char)text[i]);
}

/* y: all that is known about the system if which <= 0, else the cell at that place of it, counted from the top. */
static void system_info(Cell which) {
    struct Stack info = {0};
    time_t now = time(NULL);
    const struct tm *local = localtime(&now);
    char **last = environment;
    while (*last) last++;
    /* From the bottom up. */
    push_on(&info, 0);
    while (last > environment) push_text(&info, *--last);
    push_on(&info, 0);
    push_on(&info, 0);
    push_text(&info, program_name);
    for (size_t i = 0; i < stack_count; i++) push_on(&info, (Cell)stacks[i].count);
    push_on(&info, (Cell)stack_count);
    push_on(&info, local->tm_hour * 65536 + local->tm_min * 256 + local->tm_sec);
    push_on(&info, local->tm_year * 65536 + (local->tm_mon + 1) * 256 + local->tm_mday);
    push_vector_on(&info, (Vector){greatest.x - least.x, greatest.y - least.y});
    push_vector_on(&info, least);
    push_vector_on(&info, offset);
    push_vector_on(&info, delta);
    push_vector_on(&info, position);
    push_on(&info, 0);          /* team */
    push_on(&info, 0);          /* instruction pointer */
    push_on(&info, 2);          /* dimensions */
    push_on(&info, '/');        /* path separator */
    push_on(&info, 0);          /* = is not available */
    push_on(&info, 100);        /* version */
    push_on(&info, 0x53494D46); /* handprint: SIMF */
    push_on(&info, sizeof(Cell));
    push_on(&info, 0); /* no t, i, o, =; input and output are buffered */
    if (which <= 0)
        for (size_t i = 0; i < info.count; i++) push(info.cells[i]);
    else if ((uint64_t)which <= info.count)
        push(info.cells[info.count - (size_t)which]);
    else /* beyond the information lies the stack */
        push((uint64_t)which - info.count <= top->count ? top->cells[top->count - ((size_t)which - info.count)] : 0);
    free(info.cells);
}

/* The fingerprints that ( knows. NULL makes all letters reflect, ROMA makes letters numbers. */
enum { FINGERPRINT_NULL = 0x4E554C4C, FINGERPRINT_ROMA = 0x524F4D41, UNDEFINED = 0, REFLECTS = -1 };

static const int roma[26] = {['C' - 'A'] = 100, ['D' - 'A'] = 500, ['I' - 'A'] = 1, ['L' - 'A'] = 50,
                             ['M' - 'A'] = 1000, ['V' - 'A'] = 5, ['X' - 'A'] = 10};

static struct Stack letters[26]; /* what each letter means, the last that was loaded on top */

static void letter(int index) {
    Cell meaning = letters[index].count ? letters[index].cells[letters[index].count - 1] : REFLECTS;
    if (meaning == REFLECTS) reflect();
    else push(meaning);
}

static Cell pop_fingerprint(void) {
    Cell n = pop(), fingerprint = 0;
    for (; n > 0; n--) fingerprint = fingerprint * 256 + pop();
    return fingerprint;
}

static int meaning_in(Cell fingerprint, int index) {
    if (fingerprint == FINGERPRINT_NULL) return REFLECTS;
    return fingerprint == FINGERPRINT_ROMA ? roma[index] : UNDEFINED;
}

static void load_fingerprint(void) {
    Cell fingerprint = pop_fingerprint();
    if (fingerprint != FINGERPRINT_NULL && fingerprint != FINGERPRINT_ROMA) {
        reflect();
        return;
    }
    for (int i = 0; i < 26; i++)
        if (meaning_in(fingerprint, i) != UNDEFINED) push_on(&letters[i], meaning_in(fingerprint, i));
    push(fingerprint);
    push(1);
}

static void unload_fingerprint(void) {
    Cell fingerprint = pop_fingerprint();
    if (fingerprint != FINGERPRINT_NULL && fingerprint != FINGERPRINT_ROMA) {
        reflect();
        return;
    }
    for (int i = 0; i < 26; i++)
        if (meaning_in(fingerprint, i) != UNDEFINED) pop_from(&letters[i]);
}

#endif
