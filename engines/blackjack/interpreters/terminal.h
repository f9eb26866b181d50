/* Standard input and output of both interpreters.
 *
 * Output is written when a line ends, before the program waits for input, when the buffer is full, and at the end:
 * a referee sees every reply at once, and a reply is one write.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned char terminal_in[1 << 16], terminal_out[1 << 16];
static size_t terminal_next, terminal_end, terminal_used;

static void terminal_flush(void) {
    size_t done = 0;
    while (done < terminal_used) {
        ssize_t n = write(STDOUT_FILENO, terminal_out + done, terminal_used - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) _exit(1); /* nobody reads any more */
        done += (size_t)n;
    }
    terminal_used = 0;
}

static void terminal_put(unsigned char byte) {
    terminal_out[terminal_used++] = byte;
    if (byte == '\n' || terminal_used == sizeof terminal_out) terminal_flush();
}

/* The next byte of the input, -1 at its end. */
static int terminal_get(void) {
    if (terminal_next == terminal_end) {
        ssize_t n;
        terminal_flush();
        do n = read(STDIN_FILENO, terminal_in, sizeof terminal_in);
        while (n < 0 && errno == EINTR);
        if (n <= 0) return -1;
        terminal_next = 0;
        terminal_end = (size_t)n;
    }
    return terminal_in[terminal_next++];
}

/* End with a message about the bot's program. */
static _Noreturn void terminal_die(const char *format, ...) {
    va_list arguments;
    terminal_flush();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* The whole of a file; the caller owns it. */
static unsigned char *read_program(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 16, used = 0;
    unsigned char *text = malloc(room);
    if (!file) terminal_die("%s: cannot be read", path);
    while (text && (used += fread(text + used, 1, room - used, file)) == room) text = realloc(text, room *= 2);
    if (!text) terminal_die("%s: too long", path);
    fclose(file);
    *length = used;
    return text;
}

#endif
