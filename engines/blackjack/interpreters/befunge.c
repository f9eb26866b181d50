/* A Befunge interpreter: befunge -93|-98 PROGRAM
 *
 * -93 is Befunge-93 on its torus of 80 by 25 cells. -98 is Befunge-98 with one instruction pointer; files,
 * commands of the system and concurrency (i o = t) are not available and reflect, as y says. Cells have 64 bits.
 * ? is seeded by SIMFARM_SEED.
 */
#include <limits.h>
#include <time.h>

#include "stacks.h"

enum { COLUMNS = 80, LINES = 25 };

static int is_98;
static Vector position, delta = {1, 0}, offset; /* offset: where p, g and s count from */
static int in_string;
static uint64_t random_state;
static char **environment;
static const char *program_name;

static void reflect(void) { delta = (Vector){-delta.x, -delta.y}; }

static Vector plus(Vector a, Vector b) { return (Vector){a.x + b.x, a.y + b.y}; }

/* Where an instruction pointer that stands outside the bounds comes in again: it walks back along its line until it
 * has left the bounds on the other side (Lahey-space). */
static Vector wrap_98(Vector at) {
    if (delta.x == 0 && delta.y == 0) return at;
    Vector back = at;
    do back = (Vector){back.x - delta.x, back.y - delta.y};
    while (!space_inside(back) && ((delta.x > 0 && back.x > greatest.x) || (delta.x < 0 && back.x < least.x) ||
                                   (delta.y > 0 && back.y > greatest.y) || (delta.y < 0 && back.y < least.y)));
    if (!space_inside(back)) return at; /* its line crosses no cell */
    while (space_inside(back)) back = (Vector){back.x - delta.x, back.y - delta.y};
    return plus(back, delta);
}

static Vector next(Vector at) {
    at = plus(at, delta);
    if (!is_98) return (Vector){(at.x + COLUMNS) % COLUMNS, (at.y + LINES) % LINES};
    return space_inside(at) ? at : wrap_98(at);
}

/* From `at` on, the place of the next instruction that is executed: blanks and what ; encloses take no time. */
static Vector next_instruction(Vector at) {
    int skipping = 0;
    for (;; at = next(at)) {
        Cell here = space_get(at);
        if (here == ';') skipping = !skipping;
        else if (!skipping && here != BLANK) return at;
    }
}

static uint64_t random_bits(void) {
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void put_number(Cell value) {
    char text[24];
    int length = snprintf(text, sizeof text, "%lld ", (long long)value);
    for (int i = 0; i < length; i++) terminal_put((unsigned char)text[i]);
}

/* The next number of the input: all up to a digit is skipped, the character behind the last digit is left there.
 * In Befunge-93 a minus sign right before the digits counts. 0 at the end of the input. */
static int get_number(Cell *value) {
    int byte, before = 0;
    uint64_t number = 0;
    while ((byte = terminal_get()) >= 0 && !(byte >= '0' && byte <= '9')) before = byte;
    if (byte < 0) return 0;
    for (; byte >= '0' && byte <= '9'; byte = terminal_get()) {
        unsigned digit = (unsigned)(byte - '0');
        if (number > ((uint64_t)INT64_MAX - digit) / 10) break;
        number = 10 * number + digit;
    }
    if (byte >= 0) terminal_next--;
    *value = !is_98 && before == '-' ? -(Cell)number : (Cell)number;
    return 1;
}

#include "funge98.h"

static void turn_left(void) { delta = (Vector){delta.y, -delta.x}; }

static void turn_right(void) { delta = (Vector){-delta.y, delta.x}; }

/* Execute an instruction that both languages know. 0 if it is none. */
static int execute_93(Cell instruction) {
    Cell a, b;
    Vector at;
    switch (instruction) {
    case '0' ... '9': push(instruction - '0'); break;
    case '+': b = pop(), a = pop(), push(a + b); break;
    case '-': b = pop(), a = pop(), push(a - b); break;
    case '*': b = pop(), a = pop(), push(a * b); break;
    case '/': b = pop(), a = pop(), push(b == 0 ? 0 : b == -1 ? -a : a / b); break;
    case '%': b = pop(), a = pop(), push(b == 0 || b == -1 ? 0 : a % b); break;
    case '!': push(!pop()); break;
    case '`': b = pop(), a = pop(), push(a > b); break;
    case '>': delta = (Vector){1, 0}; break;
    case '<': delta = (Vector){-1, 0}; break;
    case '^': delta = (Vector){0, -1}; break;
    case 'v': delta = (Vector){0, 1}; break;
    case '?':
        a = random_bits() >> 62;
        delta = (Vector){(a == 0) - (a == 1), (a == 2) - (a == 3)};
        break;
    case '_': delta = (Vector){pop() ? -1 : 1, 0}; break;
    case '|': delta = (Vector){0, pop() ? -1 : 1}; break;
    case '"': in_string = 1; break;
    case ':': a = pop(), push(a), push(a); break;
    case '\\': b = pop(), a = pop(), push(b), push(a); break;
    case '$': pop(); break;
    case '.': put_number(pop()); break;
    case ',': terminal_put((unsigned char)pop()); break;
    case '#': position = next(position); break;
    case '&':
        if (get_number(&a)) push(a);
        else if (is_98) reflect();
        else push(-1);
        break;
    case '~':
        if ((a = terminal_get()) >= 0 || !is_98) push(a);
        else reflect();
        break;
    case 'g':
        at = pop_vector_from(top);
        push(is_98 || space_inside(at) ? space_get(plus(at, offset)) : 0);
        break;
    case 'p':
        at = pop_vector_from(top), a = pop();
        if (is_98 || space_inside(at)) space_put(plus(at, offset), a);
        break;
    case '@': terminal_flush(), exit(0);
    default: return 0;
    }
    return 1;
}

static void execute(Cell instruction);

/* k: the next instruction n times from where the k stands; 0 times skips it. */
static void iterate(void) {
    Cell n = pop();
    Vector at = next_instruction(next(position));
    if (n <= 0) {
        position = at;
        return;
    }
    Cell instruction = space_get(at);
    while (n-- > 0) execute(instruction);
}

static void execute(Cell instruction) {
    Cell a, b;
    if (execute_93(instruction)) return;
    if (!is_98) return; /* other characters do nothing there */
    switch (instruction) {
    case 'a' ... 'f': push(instruction - 'a' + 10); break;
    case '[': turn_left(); break;
    case ']': turn_right(); break;
    case 'r': reflect(); break;
    case 'x': delta = pop_vector_from(top); break;
    case 'w':
        b = pop(), a = pop();
        if (a < b) turn_left();
        if (a > b) turn_right();
        break;
    case 'j': jump(pop()); break;
    case 'k': iterate(); break;
    case 'n': top->count = 0; break;
    case 'z': break;
    case '\'': position = next(position), push(space_get(position)); break;
    case 's': position = next(position), space_put(position, pop()); break;
    case '{': begin_block(); break;
    case '}': end_block(); break;
    case 'u': stack_under_stack(); break;
    case 'y': system_info(pop()); break;
    case '(': load_fingerprint(); break;
    case ')': unload_fingerprint(); break;
    case 'A' ... 'Z': letter((int)(instruction - 'A')); break;
    case 'q': terminal_flush(), exit((int)(pop() & 255));
    default: reflect();
    }
}

static void interpret(void) {
    for (;; position = next(position)) {
        Cell here;
        if (in_string) {
            here = space_get(position);
            if (here == '"') {
                in_string = 0;
                continue;
            }
            push(here);
            if (is_98 && here == BLANK) { /* many blanks count as one */
                Vector ahead = next(position);
                while (space_get(ahead) == BLANK) position = ahead, ahead = next(ahead);
            }
            continue;
        }
        if (is_98) position = next_instruction(position);
        execute(space_get(position));
    }
}

int main(int argc, char **argv, char **environ_given) {
    size_t length;
    if (argc != 3 || (strcmp(argv[1], "-93") && strcmp(argv[1], "-98")))
        terminal_die("usage: befunge -93|-98 PROGRAM");
    is_98 = !strcmp(argv[1], "-98");
    program_name = argv[2];
    environment = environ_given;
    const char *seed = getenv("SIMFARM_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
    unsigned char *text = read_program(program_name, &length);
    space_load(text, length, is_98 ? LLONG_MAX : COLUMNS, is_98 ? LLONG_MAX : LINES);
    free(text);
    if (!is_98) greatest = (Vector){COLUMNS - 1, LINES - 1};
    add_stack();
    interpret();
}
