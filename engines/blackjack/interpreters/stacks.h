/* The stack of stacks of a Funge-98 program. Popping an empty stack gives 0. */
#ifndef STACKS_H
#define STACKS_H

#include "space.h"

enum { MOST_CELLS = 1 << 24, MOST_STACKS = 1 << 16 };

struct Stack { Cell *cells; size_t count, room; };

static struct Stack *stacks;
static size_t stack_count; /* stacks[stack_count - 1] is the top one */
static struct Stack *top;

static void push_on(struct Stack *stack, Cell value) {
    if (stack->count == stack->room) {
        if (stack->room >= MOST_CELLS) terminal_die("a stack of more than %d cells", MOST_CELLS);
        stack->room = stack->room ? 2 * stack->room : 256;
        stack->cells = realloc(stack->cells, stack->room * sizeof *stack->cells);
        if (!stack->cells) terminal_die("no memory for the stack");
    }
    stack->cells[stack->count++] = value;
}

static Cell pop_from(struct Stack *stack) { return stack->count ? stack->cells[--stack->count] : 0; }

static void push(Cell value) { push_on(top, value); }

static Cell pop(void) { return pop_from(top); }

static void push_vector_on(struct Stack *stack, Vector vector) {
    push_on(stack, vector.x);
    push_on(stack, vector.y);
}

static Vector pop_vector_from(struct Stack *stack) {
    Vector vector;
    vector.y = pop_from(stack);
    vector.x = pop_from(stack);
    return vector;
}

static void add_stack(void) {
    if (stack_count == MOST_STACKS) terminal_die("more than %d stacks", MOST_STACKS);
    if (!stacks && !(stacks = malloc(MOST_STACKS * sizeof *stacks))) terminal_die("no memory for the stacks");
    stacks[stack_count++] = (struct Stack){0};
    top = &stacks[stack_count - 1];
}

static void drop_stack(void) {
    free(top->cells);
    stack_count--;
    top = &stacks[stack_count - 1];
}

/* Move the top `n` cells of one stack to another, their order kept; where there are fewer, zeros make up for them. */
static void transfer(struct Stack *from, struct Stack *to, Cell n) {
    size_t have = (uint64_t)n < from->count ? (size_t)n : from->count;
    for (Cell missing = n - (Cell)have; missing > 0; missing--) push_on(to, 0);
    for (size_t i = from->count - have; i < from->count; i++) push_on(to, from->cells[i]);
    from->count -= have;
}

#endif
