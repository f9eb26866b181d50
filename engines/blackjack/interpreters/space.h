/* Funge-space: 64-bit cells on a plane of 64-bit coordinates, blank unless stored otherwise.
 *
 * A window around the origin is an array; what lies beyond is a hash table. Cells are kept XOR blank, so that fresh
 * memory is blank. The bounds enclose all that was ever stored and was not blank then; they never shrink.
 */
#ifndef SPACE_H
#define SPACE_H

#include <stdint.h>
#include <string.h>

#include "terminal.h"

typedef int64_t Cell;
typedef struct { Cell x, y; } Vector;

enum { BLANK = ' ', LEFT = 128, TOP = 128, WIDTH = 1024, HEIGHT = 512 };

static Cell window[HEIGHT][WIDTH];

struct Far { Cell x, y, value; int used; };
static struct Far *far_cells;
static size_t far_count, far_room;

static Vector least, greatest;

static Cell *window_cell(Vector at) {
    uint64_t x = (uint64_t)at.x + LEFT, y = (uint64_t)at.y + TOP;
    return x < WIDTH && y < HEIGHT ? &window[y][x] : NULL;
}

static struct Far *far_slot(Vector at) {
    uint64_t hash = ((uint64_t)at.x * 0x9E3779B97F4A7C15u) ^ ((uint64_t)at.y * 0xC2B2AE3D27D4EB4Fu);
    hash ^= hash >> 29;
    for (size_t i = hash & (far_room - 1);; i = (i + 1) & (far_room - 1))
        if (!far_cells[i].used || (far_cells[i].x == at.x && far_cells[i].y == at.y)) return &far_cells[i];
}

static void far_grow(void) {
    struct Far *old = far_cells;
    size_t old_room = far_room;
    far_room = old_room ? 2 * old_room : 1024;
    far_cells = calloc(far_room, sizeof *far_cells);
    if (!far_cells) terminal_die("no memory for so many cells");
    for (size_t i = 0; i < old_room; i++)
        if (old[i].used) *far_slot((Vector){old[i].x, old[i].y}) = old[i];
    free(old);
}

static Cell space_get(Vector at) {
    Cell *near = window_cell(at);
    if (near) return *near ^ BLANK;
    return far_room ? far_slot(at)->value ^ BLANK : BLANK;
}

static void space_put(Vector at, Cell value) {
    Cell *near = window_cell(at);
    if (near) {
        *near = value ^ BLANK;
    } else {
        if (2 * far_count >= far_room) far_grow();
        struct Far *slot = far_slot(at);
        if (!slot->used) far_count++;
        *slot = (struct Far){at.x, at.y, value ^ BLANK, 1};
    }
    if (value == BLANK) return;
    if (at.x < least.x) least.x = at.x;
    if (at.y < least.y) least.y = at.y;
    if (at.x > greatest.x) greatest.x = at.x;
    if (at.y > greatest.y) greatest.y = at.y;
}

static int space_inside(Vector at) {
    return at.x >= least.x && at.x <= greatest.x && at.y >= least.y && at.y <= greatest.y;
}

/* Store a program from the origin on: lines end with LF, CR or CR LF, form feeds are left out, blanks store nothing,
 * and nothing is stored beyond the given width and height. */
static void space_load(const unsigned char *text, size_t length, Cell width, Cell height) {
    Vector at = {0, 0};
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            if (text[i] == '\r' && i + 1 < length && text[i + 1] == '\n') i++;
            at = (Vector){0, at.y + 1};
        } else if (text[i] != '\f') {
            if (text[i] != BLANK && at.x < width && at.y < height) space_put(at, text[i]);
            at.x++;
        }
    }
}

#endif
