/*
 * What a program that plays can no longer do: after lock_down() it computes, writes records, returns from signals
 * and ends. Any other system call is refused with a signal (guard.h), and so is any write to the records and any end
 * that does not come from the two instructions below. No clock is left: not by system call, not in the pages that
 * the kernel maps for it, and where the processor counts time, not there.
 */
#ifndef UNO_WALLS_H
#define UNO_WALLS_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The two system calls that are the referee's own; `..._done` is the address after the instruction, which is what
 * a filter sees of a caller. The names are local to this file. */
long own_write(int file, const void *data, size_t size);
void own_exit(int code);
void own_write_done(void);
void own_exit_done(void);

#if defined __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#define OWN_CALL(name, number) \
    __asm__(".text\n" #name ":\n\tmovl $" #number ", %eax\n\tsyscall\n" #name "_done:\n\tret\n")
OWN_CALL(own_write, 1);
OWN_CALL(own_exit, 231);
_Static_assert(SYS_write == 1 && SYS_exit_group == 231, "numbers of system calls");
#elif defined __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#define OWN_CALL(name, number) __asm__(".text\n" #name ":\n\tmov x8, #" #number "\n\tsvc #0\n" #name "_done:\n\tret\n")
OWN_CALL(own_write, 64);
OWN_CALL(own_exit, 94);
_Static_assert(SYS_write == 64 && SYS_exit_group == 94, "numbers of system calls");
#else
#error "the walls know x86-64 and 64-bit ARM"
#endif

static int record_file, error_file = STDERR_FILENO; /* for records or traces, and for what the referee has to say */
static uintptr_t clock_start, clock_end; /* where the kernel's clock pages were */

static _Noreturn void leave_program(int code)
{
    for (;;)
        own_exit(code);
}

/* Writes everything; there is nothing left to do if nobody reads any more. */
static void put(int file, const void *data, size_t size)
{
    while (size > 0) {
        long written = own_write(file, data, size);
        if (written < 0 && written != -EINTR)
            leave_program(2);
        if (written > 0) {
            data = (const char *)data + written;
            size -= (size_t)written;
        }
    }
}

/* Takes away the pages from which time is read without a system call, and the processor's counter. */
static int stop_clocks(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL)
        return 0;
    char line[512];
    int good = 1;
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (strstr(line, "[vvar") == NULL || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        good = good && munmap((void *)start, end - start) == 0;
        clock_start = clock_start && clock_start < start ? clock_start : start;
        clock_end = clock_end > end ? clock_end : end;
    }
    fclose(maps);
#ifdef __x86_64__
    good = good && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
#endif
    return good;
}

/* Whether an address lies where a clock could be read. */
static int is_clock(const void *address)
{
    return (uintptr_t)address >= clock_start && (uintptr_t)address < clock_end;
}

/* Locks the doors for good; returns 0 if the machine refuses. */
static int lock_down(void)
{
    const uint64_t write_done = (uintptr_t)own_write_done, exit_done = (uintptr_t)own_exit_done;
    const uint32_t pointer = offsetof(struct seccomp_data, instruction_pointer);
    enum { ALLOW = 17, TRAP = 18 };
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define TEST(line, value, yes, no) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (yes) - (line) - 1, (no) - (line) - 1)
    struct sock_filter filter[] = {
        LOAD(offsetof(struct seccomp_data, arch)),
        TEST(1, OWN_ARCH, 2, TRAP),
        LOAD(offsetof(struct seccomp_data, nr)),
        TEST(3, SYS_rt_sigreturn, ALLOW, 4),
        TEST(4, SYS_exit_group, 13, 5),
        TEST(5, SYS_write, 6, TRAP),
        LOAD(offsetof(struct seccomp_data, args[0])),
        TEST(7, STDOUT_FILENO, ALLOW, 8), /* these two lead nowhere */
        TEST(8, STDERR_FILENO, ALLOW, 9),
        LOAD(pointer),
        TEST(10, write_done, 11, TRAP),
        LOAD(pointer + 4),
        TEST(12, write_done >> 32, ALLOW, TRAP),
        LOAD(pointer),
        TEST(14, exit_done, 15, TRAP),
        LOAD(pointer + 4),
        TEST(16, exit_done >> 32, ALLOW, TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
#undef LOAD
#undef TEST
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    /* The flag keeps the kernel from slowing the process down against attacks that need a clock. */
    return stop_clocks() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

/* --- memory that outlives the player ----------------------------------------------------------------------- */

/* Variables with this mark lie in memory that the warden shares with the process that plays (warden.h). */
#define SHARED __attribute__((section("shared")))

extern char __start_shared[], __stop_shared[];

/* Makes it so; the pages' other contents, which the program may need at any moment, stay as they are. Returns 0 if
 * the machine refuses. */
static int share_memory(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)((uintptr_t)__start_shared & ~(page - 1));
    size_t size = ((size_t)(__stop_shared - start) + page - 1) & ~(page - 1);
    int file = memfd_create("uno", MFD_CLOEXEC);
    if (file < 0 || write(file, start, size) != (ssize_t)size)
        return 0;
    int good = mmap(start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == start;
    return close(file) == 0 && good;
}

#endif
