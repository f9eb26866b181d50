"""The code rules by name, and the short lists of what a bot may call."""

RULES = {
    "size": "a source has at most 256 KiB, and 2 MiB once its macros are expanded",
    "spelling": "plain characters: no zero bytes, trigraphs, digraphs or backslashes before spaces",
    "include": 'one include at most, and only of "proj2.h"',
    "directive": "of the preprocessor only define, undef, include, error, warning and conditionals",
    "pragma": "no pragmas",
    "reserved-name": "no names of the compiler or the arena but keywords and builtins: none tells about the build",
    "static": "nothing is static",
    "extern": "nothing is extern",
    "thread-local": "no thread-local storage",
    "global": "no variables outside functions, constant ones included",
    "assembly": "no inline assembly",
    "attribute": "no attributes",
    "computed-goto": "no computed jumps and no addresses of labels",
    "function-pointer": "no types of function pointers, and no function named without calling it",
    "indirect-call": "calls name their function",
    "string-literal": "a string literal only fills a local char array",
    "variable-length": "the size of an array is a constant",
    "wide-number": "no long double and no __int128: not every machine has them, and not the same",
    "call": "of the library only abs, labs, memcmp, memcpy, memmove, memset, rand, srand and a few builtins",
    "outside-name": "no objects of the library",
    "entry": "exactly one function 'int alias_Play(GameState *)', written out, the alias begins with a letter",
    "prefix": "every function is called alias_something",
    "nesting": "statements and expressions are nested as people nest them",
    "unreadable": "the C of 1989 with what C99 and GNU C added, apart from what these rules exclude",
    "compile": "it compiles with the flags of the arena, within limits of time, memory and size",
    "undefined-symbol": "the object file asks for nothing but the functions that rule 'call' allows",
    "writable-data": "the object file holds no data that can be written",
    "section": "the object file holds code, constants and nothing else",
}
"""Name of each rule, and what it demands."""

LIBRARY = frozenset({"abs", "labs", "memcmp", "memcpy", "memmove", "memset", "rand", "srand"})
"""The functions of the library that a bot may call; rand and srand are the referee's own."""

_BITS = ("clz", "ctz", "clrsb", "ffs", "parity", "popcount")
BUILTINS = frozenset(
    {f"__builtin_{name}{size}" for name in _BITS for size in ("", "l", "ll")}
    | {f"__builtin_{name}" for name in (*LIBRARY - {"rand", "srand"}, "llabs", "fabs", "fabsf")}
    | {f"__builtin_{name}" for name in ("expect", "constant_p", "choose_expr", "types_compatible_p")}
    | {f"__builtin_bswap{bits}" for bits in (16, 32, 64)}
)
"""The builtins of the compiler that a bot may use: they compute, and look at nothing but their operands."""

_REASONS = {
    "takes memory that outlives the function or is not counted": (
        "malloc calloc realloc free aligned_alloc posix_memalign memalign valloc reallocarray strdup alloca mmap "
        "munmap sbrk brk"
    ),
    "is input or output": (
        "printf fprintf sprintf snprintf vprintf vfprintf puts fputs putchar putc fputc getchar getc fgetc gets "
        "fgets scanf fscanf sscanf fopen freopen fclose fread fwrite fflush perror remove rename tmpfile open read "
        "write close"
    ),
    "reaches the system": (
        "system exec execl execlp execle execv execvp execve fork vfork popen kill raise signal sigaction getenv "
        "setenv putenv syscall dlopen dlsym socket pthread_create"
    ),
    "ends the program or jumps out of it": "exit _exit _Exit abort atexit longjmp siglongjmp setjmp _setjmp assert",
    "tells the time": "time clock difftime gettimeofday clock_gettime localtime gmtime mktime ctime sleep usleep",
    "calls back through a pointer": "qsort bsearch",
    "looks at the frame of the function": (
        "frame_address return_address extract_return_addr frob_return_addr dwarf_cfa apply apply_args return "
        "stack_save stack_restore stack_address unwind_init eh_return"
    ),
}
REASONS = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Why a well-known function is not allowed; builtins are listed without ``__builtin_``."""


def refusal(function: str) -> str:
    """Why a bot must not call ``function``, and what it may call."""
    name = function.removeprefix("__builtin_").removesuffix("_with_align")
    reason = REASONS.get(name, "is neither defined here nor allowed")
    return f"{function}() {reason}; allowed: {', '.join(sorted(LIBRARY))} and functions of the file"
