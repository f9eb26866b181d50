"""The code rules of UNO bots: each way to break one is caught by the layer that is named, for the right reason, on
the right line; and what is allowed passes all three."""

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engines.uno.coderules import object as object_layer
from engines.uno.coderules import text as text_layer
from engines.uno.coderules import tree as tree_layer
from engines.uno.coderules.check import check_source
from engines.uno.coderules.rules import RULES
from engines.uno.engine import UnoEngine
from simfarm.core.model import Bot, SourceFile, Violation
from simfarm.core.native import BOT_LIMITS, find_compiler

ROOT = Path(__file__).parents[1]
BOTS = sorted((ROOT / "engines/uno/bots").glob("*.c"))
PLAY = "int mine_Play(GameState *state)\n{\n    return state->yourPosition ? -1 : 0;\n}\n"
"""A legal bot, to which tests add what is not."""


def text(source: str) -> list[Violation]:
    """What the first layer finds alone."""
    passed, found = text_layer.written(source.encode())
    return found + (text_layer.expanded(passed)[2] if passed else [])


def tree(source: str) -> list[Violation]:
    """What the second layer finds alone."""
    own, types, _ = text_layer.expanded(source)
    return [Violation(*broken) for broken in tree_layer.tree_violations(own, types)]


def proof(source: str) -> list[Violation]:
    """What the third layer finds alone."""
    return object_layer.object_violations(source, "mine")


LAYERS: dict[str, Callable[[str], list[Violation]]] = {"text": text, "tree": tree, "object": proof}


def within(body: str, before: str = "") -> str:
    """A bot whose function holds ``body`` on line 4, with other lines after it."""
    return f"/* {'line 1'} */\nint mine_Play(GameState *state)\n{{\n{body}\n}}\n{before}"


COUNT = "state->yourNumberOfCards"
FILL = "k; for (k = 0; k < state->yourNumberOfCards; k++) a[k] = rand(); return a[rand() % 3];"
CODE = "unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};"
BROKEN: dict[str, tuple[str, int, dict[str, tuple[str, str]]]] = {
    "static local": (
        within("    static int calls; return calls++;"),
        4,
        {"text": ("static", "use locals"), "object": ("writable-data", "keeps a value")},
    ),
    "static function": (
        within("    return mine_help();", "static __attribute__((noinline)) int mine_help(void) { return 1; }"),
        6,
        {"text": ("static", "hides a function")},
    ),
    "global array": (
        within("    return counts[0]++;").replace("/* line 1 */", "int counts[4];"),
        1,
        {"tree": ("global", "'counts' is a variable"), "object": ("writable-data", "'counts' keeps a value")},
    ),
    "initialised global": (
        "int counts[2] = {1, 2};\n" + PLAY,
        1,
        {"tree": ("global", "'counts'"), "object": ("writable-data", "'counts'")},
    ),
    "const-global array": (
        "const int worth[3] = {1, 2, 3};\n" + PLAY,
        1,
        {"tree": ("global", "'worth' is a constant"), "object": ("global", "'worth' is a constant")},
    ),
    "thread-local": (
        "__thread int mine_calls;\n" + PLAY,
        1,
        {"text": ("thread-local", "'__thread'"), "object": ("thread-local", "'mine_calls'")},
    ),
    "extern that defines": (
        "extern int mine_calls;\nextern int mine_calls = 3;\n" + PLAY,
        1,
        {
            "text": ("extern", "'extern'"),
            "tree": ("global", "'mine_calls'"),
            "object": ("writable-data", "mine_calls"),
        },
    ),
    "global register": (
        'register long mine_kept asm("r15");\n' + PLAY,
        1,
        {"text": ("assembly", "'asm'"), "tree": ("global", "'mine_kept'")},
    ),
    "static made by ##": (
        "#define JOIN(a, b) a##b\n" + PLAY.replace("{\n", "{\n    JOIN(sta, tic) int calls = 0;\n    calls++;\n"),
        4,
        {"text": ("static", "'static'")},
    ),
    "line-spliced keyword": (
        within("    sta\\\ntic int calls; return calls++;"),
        4,
        {"text": ("static", "'static'")},
    ),
    "keyword spliced with spaces": (
        within("    sta\\ \ntic int calls; return calls++;"),
        4,
        {"text": ("spelling", "sp")},
    ),
    "trigraph include": ("??=include <string.h>\n" + PLAY, 1, {"text": ("spelling", "'??=' is a trigraph")}),
    "trigraph splice": ("int mine_a; ??/\n" + PLAY, 1, {"text": ("spelling", "'??/' is a trigraph")}),
    "digraph include": ("%:include <string.h>\n" + PLAY, 1, {"text": ("include", "<string.h>")}),
    "another include": (
        '#include "proj2.h"\n#include <math.h>\n' + PLAY,
        2,
        {"text": ("include", "#include <math.h>")},
    ),
    "a second include": (
        '#include "proj2.h"\n#include "proj2.h"\n' + PLAY,
        2,
        {"text": ("include", "a second include")},
    ),
    "spliced include": ("#inc\\\nlude <math.h>\n" + PLAY, 1, {"text": ("include", "<math.h>")}),
    "include behind a comment": (
        "/* a\n */ # /**/ include <math.h>\n" + PLAY,
        2,
        {"text": ("include", "<math.h>")},
    ),
    "include of a macro": ('#define H "proj2.h"\n#include H\n' + PLAY, 2, {"text": ("include", "#include H")}),
    "include_next": ("#include_next <stdio.h>\n" + PLAY, 1, {"text": ("include", "'#include_next'")}),
    "import": ("#import <stdio.h>\n" + PLAY, 1, {"text": ("include", "'#import'")}),
    "embed": ('#embed "/etc/passwd"\n' + PLAY, 1, {"text": ("include", "'#embed'")}),
    "the header taken apart": (
        '#undef PROJ2_H\n#define Deck Deck; int mine_calls\n#include "proj2.h"\n' + PLAY,
        1,
        {"text": ("include", "macros change what proj2.h says")},
    ),
    "false line numbers": ('#line 1 "proj2.h"\n' + PLAY, 1, {"text": ("directive", "'#line'")}),
    "looking for files": (
        '#if __has_include("/etc/passwd")\n#endif\n' + PLAY,
        1,
        {"text": ("reserved-name", "__has_")},
    ),
    "string-literal write": (
        within('    char *kept = "a"; return kept[0]++;'),
        4,
        {"tree": ("string-literal", "only fill a local array")},
    ),
    "malloc": (
        within("    state->yourPosition = (int)(long)malloc(8); return 1;"),
        4,
        {"tree": ("call", "malloc() takes memory"), "object": ("undefined-symbol", "malloc() takes memory")},
    ),
    "builtin malloc": (
        within("    state->yourPosition = (int)(long)__builtin_malloc(8); return 1;"),
        4,
        {"tree": ("call", "__builtin_malloc() takes memory"), "object": ("undefined-symbol", "malloc()")},
    ),
    "calloc by another name": (
        'void *mine_take(long, long) asm("calloc");\n'
        + within("    state->yourPosition = (int)(long)mine_take(1, 8); return 1;"),
        1,
        {"text": ("assembly", "'asm'"), "object": ("undefined-symbol", "calloc()")},
    ),
    "system": (
        within('    return system("ls");'),
        4,
        {"tree": ("call", "system() reaches the system"), "object": ("undefined-symbol", "system()")},
    ),
    "output": (
        within('    return printf("x");'),
        4,
        {"tree": ("call", "printf() is input or output"), "object": ("undefined-symbol", "printf()")},
    ),
    "an object of the library": (
        within("    return stdin == 0;"),
        4,
        {"tree": ("outside-name", "'stdin'"), "object": ("undefined-symbol", "stdin")},
    ),
    "time": (
        within("    return time(0) % 2;"),
        4,
        {"tree": ("call", "time() tells the time"), "object": ("undefined-symbol", "time()")},
    ),
    "another program elsewhere": (
        "#ifdef __SSP_STRONG__\nstatic int calls;\n#endif\n" + PLAY,
        1,
        {"text": ("reserved-name", "'__SSP_STRONG__'")},
    ),
    "date of the build": (within("    return __DATE__[0];"), 4, {"text": ("reserved-name", "'__DATE__'")}),
    "pasted time of the build": (
        "#define PASTE(a, b) a##b\n" + within("    return PASTE(__TI, ME__)[7];"),
        5,
        {"text": ("reserved-name", "'__TI'")},
    ),
    "inline assembly": (
        within('    int a; __asm__ volatile("mov $1, %0" : "=r"(a)); return a;'),
        4,
        {"text": ("assembly", "'__asm__'"), "object": ("assembly", "assembl")},
    ),
    "assembler include of a file": (
        'asm(".incbin \\"/dev/zero\\"");\n' + PLAY,
        1,
        {"text": ("assembly", "'asm'"), "object": ("assembly", "assembl")},
    ),
    "assembler include by a section name": (
        '__attribute__((section(".text\\n.incbin \\"/dev/zero\\"\\n#"))) int mine_help(void) { return 1; }\n'
        + PLAY,
        1,
        {"text": ("attribute", "'__attribute__'"), "object": ("assembly", "'.incbin'")},
    ),
    "constructor": (
        "__attribute__((constructor)) void mine_first(void) { srand(1); }\n" + PLAY,
        1,
        {"text": ("attribute", "'__attribute__'"), "object": ("section", "'.init_array'")},
    ),
    "section attribute": (
        '__attribute__((section("mine"))) int mine_help(void) { return 1; }\n' + PLAY,
        1,
        {"text": ("attribute", "'__attribute__'"), "object": ("section", "a section 'mine'")},
    ),
    "new attribute": (
        "[[gnu::constructor]] void mine_first(void) { }\n" + PLAY,
        1,
        {"text": ("attribute", "'[['")},
    ),
    "pragma": ('#pragma GCC optimize ("O3")\n' + PLAY, 1, {"text": ("pragma", "'#pragma'")}),
    "pragma operator": (within('    _Pragma("GCC ivdep") return 1;'), 4, {"text": ("pragma", "pragmas are not")}),
    "function pointer": (
        within(
            "    int (*call)(GameState *) = mine_other; return call(state);",
            "int mine_other(GameState *s) { return 0; }",
        ),
        4,
        {"tree": ("function-pointer", "a pointer to a function")},
    ),
    "function pointer from a number": (
        within("    return ((int (*)(void))(long)state->allPlayersScores[0])();"),
        4,
        {"tree": ("indirect-call", "a call through a value"), "object": ("indirect-call", "calls or jumps")},
    ),
    "type of functions": (
        "typedef int mine_F(void);\n"
        + within("    mine_F *call = (mine_F *)(long)state->yourPosition; return call();"),
        1,
        {"tree": ("function-pointer", "'mine_F' is a type of functions"), "object": ("indirect-call", "calls or")},
    ),
    "function as a parameter": (
        "int mine_call(int f(void)) { return f(); }\n" + PLAY,
        1,
        {"tree": ("function-pointer", "the parameter 'f'"), "object": ("indirect-call", "calls or jumps")},
    ),
    "function pointer without its type": (
        within("    __auto_type call = mine_other; return call();", "int mine_other(void) { return 0; }").replace(
            "/* line 1 */", "int mine_other(void);"
        ),
        4,
        {"text": ("reserved-name", "'__auto_type'"), "tree": ("unreadable", "cannot be read")},
    ),
    "machine code in an array": (
        within(f"    {CODE} return ((int (*)(void))code)();"),
        4,
        {"tree": ("indirect-call", "a call through a value"), "object": ("indirect-call", "calls or jumps")},
    ),
    "machine code in integer constants": (
        within("    long at = 0x05eb90c3050f003b; return (*(int (**)(long))&at)(0x05eb90c3050f003b);"),
        4,
        {"tree": ("function-pointer", "a pointer to a function"), "object": ("indirect-call", "calls or jumps")},
    ),
    "computed goto": (
        within("    void *to[2] = {&&a, &&b}; goto *to[state->yourPosition & 1]; a: return 0; b: return 1;"),
        4,
        {"text": ("computed-goto", "a computed goto"), "object": ("indirect-call", "calls or jumps")},
    ),
    "address of a label": (within("    a: return (long)(void *)&&a;"), 4, {"text": ("computed-goto", "'&&a'")}),
    "pragma in a macro that leaves no mark": (
        "#define DO(x) _Pragma(#x)\nDO(GCC poison rand)\n" + PLAY,
        1,
        {"text": ("pragma", "'_Pragma'")},
    ),
    "pragma that looks for a file": (
        '#define DO(x) _Pragma(#x)\nDO(GCC dependency "/etc/passwd")\n' + PLAY,
        1,
        {"text": ("pragma", "'_Pragma'")},
    ),
    "alloca": (
        within(f"    int *a = alloca(8 * {COUNT}), {FILL}"),
        4,
        {"tree": ("call", "alloca() takes memory"), "object": ("variable-length", "mine_Play() takes room")},
    ),
    "builtin alloca": (
        within(f"    int *a = __builtin_alloca(8 * {COUNT}), {FILL}"),
        4,
        {"tree": ("call", "__builtin_alloca() takes"), "object": ("variable-length", "mine_Play() takes room")},
    ),
    "array of variable length": (
        within(f"    int n = {COUNT}, a[n + 1], {FILL}"),
        4,
        {
            "tree": ("variable-length", "the size depends on 'n'"),
            "object": ("variable-length", "mine_Play() takes room"),
        },
    ),
    "array of variable length by typeof": (
        within(f"    int n = {COUNT}; __typeof__(int[n + 1]) a; int {FILL}"),
        4,
        {
            "tree": ("variable-length", "the size depends on 'n'"),
            "object": ("variable-length", "mine_Play() takes room"),
        },
    ),
    "function named in typeof": (
        within("    __typeof__(&mine_other) call = 0; return call != 0;", "int mine_other(void) { return 0; }"),
        4,
        {"tree": ("function-pointer", "mine_other is named without a call")},
    ),
    "label by a cast to a type of the file": (
        "typedef void *mine_P;\n" + within("    mine_P to = (mine_P)&&a; a: return to != 0;"),
        5,
        {"tree": ("unreadable", "Invalid expression")},
    ),
    "long double": (
        within("    long double a = state->yourPosition; return (int)(a / 3);"),
        4,
        {"tree": ("wide-number", "'long double'")},
    ),
    "constant of a long double": (
        within("    return (int)(state->yourPosition / 3.0L);"),
        4,
        {"tree": ("wide-number", "3.0L")},
    ),
    "128 bits": (
        within("    unsigned __int128 a = state->yourPosition; return (int)(a % 3);"),
        4,
        {"text": ("wide-number", "'__int128'")},
    ),
    "frame address": (
        within("    return *(int *)__builtin_frame_address(0);"),
        4,
        {"tree": ("call", "looks at the frame")},
    ),
    "return address": (
        within("    return (long)__builtin_return_address(0);"),
        4,
        {"tree": ("call", "looks at the frame")},
    ),
    "unprefixed function": (
        PLAY + "int help(void) { return 1; }\n",
        5,
        {"tree": ("prefix", "help() must begin with the alias: mine_help"), "object": ("prefix", "help()")},
    ),
    "main": (
        PLAY + "int main(void) { return 1; }\n",
        5,
        {"tree": ("prefix", "main()"), "object": ("prefix", "main()")},
    ),
    "alias mismatch": (
        "int other_help(void) { return 1; }\n" + PLAY,
        1,
        {
            "tree": ("prefix", "other_help() must begin with the alias: mine_"),
            "object": ("prefix", "other_help()"),
        },
    ),
    "two entries": (
        PLAY + "int other_Play(GameState *state) { return 1; }\n",
        5,
        {"tree": ("entry", "a second entry other_Play()")},
    ),
    "no entry": (
        "int mine_help(void) { return 1; }\n",
        1,
        {"tree": ("entry", "there is no"), "object": ("entry", "no")},
    ),
    "entry of another type": (
        "long mine_Play(GameState *state, int more) { return 1; }\n",
        1,
        {"tree": ("entry", "must be declared 'int mine_Play(GameState *state)'")},
    ),
    "entry in small letters": (
        "int mine_help(void) { return 1; }\nint mine_play(GameState *state) { return 1; }\n",
        2,
        {"tree": ("entry", "mine_play() is not called alias_Play; call it mine_Play")},
    ),
    "entry that takes nothing": (
        "int mine_help(void) { return 1; }\nint mine_Play(void) { return 1; }\n",
        2,
        {"tree": ("entry", "mine_Play() takes no GameState *; declare 'int mine_Play(GameState *state)'")},
    ),
    "entry in the way of old": (
        "int mine_help(void) { return 1; }\nint mine_Play(state) GameState *state; { return 1; }\n",
        2,
        {"tree": ("entry", "must be declared 'int mine_Play(GameState *state)'")},
    ),
    "include of another case": (
        '#include "Proj2.h"\n' + PLAY,
        1,
        {"text": ("include", 'only #include "proj2.h"')},
    ),
    "include with brackets": ("#include <proj2.h>\n" + PLAY, 1, {"text": ("include", "#include <proj2.h>")}),
    "function within a function": (
        within("    int mine_inner(void) { return state->yourPosition; } return mine_inner();"),
        4,
        {"tree": ("unreadable", "cannot be read")},
    ),
    "qsort": (
        within("    qsort(state->yourCards, 3, sizeof(Card), 0); return 0;"),
        4,
        {"tree": ("call", "calls back through a pointer"), "object": ("undefined-symbol", "qsort()")},
    ),
    "only declared": (
        "int mine_help(int);\n" + within("    return mine_help(1);"),
        5,
        {"tree": ("call", "declared and not defined")},
    ),
    "names of the arena": (
        "#ifdef mine_Play_of_unit1\n#endif\n" + PLAY,
        1,
        {"text": ("reserved-name", "kept for the arena")},
    ),
    "zero byte": (PLAY + "/* \0 */\n", 5, {"text": ("spelling", "a zero byte")}),
    "other characters": (PLAY.replace("mine", "mïne"), 1, {"text": ("spelling", "outside of comments")}),
    "what does not compile": (within("    return *state;"), 4, {"object": ("compile", "incompatible")}),
}


NOT_WITH_CLANG = (
    *("machine code in an array", "computed goto", "assembler include by a section name"),
    *("alloca", "builtin alloca", "array of variable length", "array of variable length by typeof"),
)
"""Clang makes plain code of the first two, takes the third for a mere name of a section, and does not always tell how
much stack it takes."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_caught_by_each_layer_named(name: str) -> None:
    source, line, layers = BROKEN[name]
    for layer, (rule, words) in layers.items():
        if layer == "object" and name in NOT_WITH_CLANG and "clang" in find_compiler().version:
            continue
        found = LAYERS[layer](source)
        fitting = [one for one in found if one.rule == rule and words in one.message]
        assert fitting, (layer, found)
        if layer != "object":
            assert fitting[0].line == line, (layer, found)
    verdict = check_source(source.encode())
    assert verdict, "the whole check finds it as well"
    assert any((one.rule, one.line) == (next(iter(layers.values()))[0], line) for one in verdict), verdict
    for one in verdict:
        assert one.rule in RULES
        assert 1 <= one.line <= source.count("\n") + 1
        assert "\n" not in one.message
        assert not re.search(r"/tmp|/usr|root:", one.message)


LEGAL = {
    "switch": """
    switch (state->yourPosition) {
    case 0: return 0; case 1: return 1; case 2: return 2; case 3: return 3; case 4: return 5; case 5: return 8;
    default: return -1;
    }""",
    "2-D local table": """
    const int worth[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
    int copy[2][2] = {{1}};
    return worth[state->yourPosition % 3][state->yourNumberOfCards & 3] + copy[1][1];""",
    "declarations between statements": """
    state->yourPosition++;
    int a = 1;
    { long b = a; a = (int)b; }
    for (a = 0; a < 3; a++) { int c = a; state->yourPosition += c; }
    int d = a;
    return d; // and a comment of this kind, with "static" and 'malloc(' in it /* too""",
    "library": """
    Card copy[MAX_CARDS];
    memcpy(copy, state->yourCards, sizeof copy);
    memset(copy, 0, sizeof(Card));
    srand(3);
    return abs(rand() % 3) + (int)labs(copy[1].value) + memcmp(copy, state->yourCards, sizeof(Card));""",
    "macros with arguments": """
    int a = MINE_MAX(state->yourPosition, 2), b = 0;
    MINE_SWAP(a, b);
    return MINE_BOTH(a, 3) ? MINE_JOIN(a, ) : MINE_EACH(a, b);""",
    "types": """
    typedef struct { int worth, place; } mine_Choice;
    enum { MINE_FEW = 3, MINE_SIZE = MINE_FEW * 2 };
    mine_Choice best = {0, 0}, all[MINE_SIZE], *at = &all[1];
    union { int a; char b[4]; } both;
    int n = (int)(sizeof(all) / sizeof(all[0]));
    both.a = n;
    at->worth = best.worth = (mine_Choice){1, 2}.place;
    return at - all + both.b[0] + NULL_IS(at);""",
    "GNU C": """
    int a = state->yourPosition ?: 3, all[4] = {[0 ... 2] = 1}, none[2] = {};
    _Static_assert(sizeof(int) == 4, "32 bits");
    { typeof(all[a]) swap = all[0]; __typeof__(int *) at = &swap; all[0] = (typeof(a))*at; }
    switch (a) { case 0 ... 2: a++; }
    a = ({ __typeof__(a) twice = a; twice * 2; });
    all[1] = __builtin_popcount(a) + (int)__builtin_offsetof(GameState, yourCards[1].value);
    return a + 0b11 + __extension__ 1 + (__builtin_expect(a == 1, 0) && all[0]) + none[0];""",
    "labels and strings in arrays": """
    char name[] = "a ?? b";
    char names[2][4] = {"ab", "cd"};
    const char *at = name;
    goto end;
end:
    return (state->yourPosition) && (at[0] == names[0][1]) && !(name[1] & 'x');""",
}
HEAD = """#include "proj2.h"
#define MINE_MAX(a, b) ((a) > (b) ? (a) : (b))
#define MINE_SWAP(a, b) do { int swap = (a); (a) = (b); (b) = swap; } while (0)
#define MINE_BOTH(a, b) \\
    ((a) && \\
     (b))
#define MINE_JOIN(a, b) a##b
#define MINE_EACH(a, ...) ((a) + (__VA_ARGS__))
#define NULL_IS(a) ((a) == NULL)
#ifdef MINE_TEST
static int unused = "not compiled";
#endif
int mine_count(int), mine_old();
inline int mine_depth(int n) { return n <= 0 ? 0 : 1 + mine_depth(n - 1); }
int mine_fibonacci(int n)
{
    return n < 2 ? n : mine_fibonacci(n - 1) + mine_fibonacci(n - 2);
}
int mine_old(a, b) int a, b; { return a + b; }
int mine_sum(const int all[], int n, int table[][4]) { return n ? all[n - 1] + table[0][1] : 0; }
"""


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_allowed_passes(name: str) -> None:
    source = f"{HEAD}int mine_Play(GameState *state)\n{{{LEGAL[name]}\n}}\n"
    assert check_source(source.encode()) == []
    assert check_source(source.replace("\n", "\r\n").encode()) == [], "lines may end as on Windows"


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.stem)
def test_bundled_bots_pass(path: Path) -> None:
    assert UnoEngine().violations(Bot("any", (SourceFile("any.c", path.read_bytes()),))) == []


def test_every_broken_rule_is_told_at_once() -> None:
    source = (
        "int counts[4];\n"
        "#include <math.h>\n"
        "int help(void) { static int calls; return calls++; }\n"
        '__attribute__((unused)) int mine_help(void) { asm(""); return (int)malloc(3); }\n'
    ) + PLAY
    told = {(one.line, one.rule) for one in check_source(source.encode())}
    assert told == {
        (1, "global"),
        (2, "include"),
        (3, "prefix"),
        (3, "static"),
        (4, "attribute"),
        (4, "assembly"),
        (4, "call"),
    }


@pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "/proc/self/environ", "../../etc/passwd"])
def test_no_file_outside_is_read(target: str) -> None:
    for quotes in ('"{}"', "<{}>"):
        source = f"#include {quotes.format(target)}\n{PLAY}"
        started = time.monotonic()
        (found,) = check_source(source.encode())
        assert (found.rule, found.line) == ("include", 1)
        assert time.monotonic() - started < 10


def nested(head: str, tail: str, times: int) -> str:
    return f"int mine_Play(GameState *s) {{ {head * times} return 0; {tail * times} return 1; }}\n"


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        pytest.param(nested("if(1)", "", 50_000), {"nesting"}, id="50,000 ifs"),
        pytest.param(nested("if(s->yourPosition)", "", 60_000), {"size"}, id="60,000 ifs in a large file"),
        pytest.param(nested("{", "}", 60_000), {"nesting"}, id="60,000 blocks"),
        pytest.param(PLAY + "int mine_a = " + "(" * 60_000, {"nesting"}, id="60,000 parentheses"),
        pytest.param(
            PLAY + "typedef int " + "(" * 30_000 + "a" + ")" * 30_000 + ";", {"nesting"}, id="declarator"
        ),
        pytest.param(PLAY + "int mine_b = " + "sizeof(int)+" * 20_000 + "1;", {"global"}, id="a long sum"),
        pytest.param(
            "#define A(x) x x x x x x x x\n" + PLAY + "int mine_a = 1 " + "A(" * 7 + "+1" + ")" * 7 + ";\n",
            {"size"},
            id="macros that grow",
        ),
        pytest.param(PLAY + "/*" * 50_000, {"compile"}, id="a comment without end"),
        pytest.param(PLAY + "#if 1\n" * 30_000, {"compile"}, id="conditions without end"),
        pytest.param("", {"entry"}, id="nothing"),
        pytest.param(
            within("    const int t[100000000] = {[0 ... 99999999] = 7}; return t[state->yourPosition];"),
            {"compile"},
            id="a table of 400 MB",
        ),
        pytest.param(
            "#define A(x) x x x x x x x x\n" + PLAY + "int mine_a = 1 " + "A(" * 9 + "+1" + ")" * 9 + ";\n",
            {"compile"},
            id="macros that grow beyond memory",
        ),
    ],
)
def test_what_is_made_to_hurt_gets_a_verdict_within_seconds(
    source: str, rules: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_layer, "BOT_LIMITS", replace(BOT_LIMITS, cpu_seconds=5))
    started = time.monotonic()
    found = check_source(source.encode())
    assert rules <= {one.rule for one in found}, found
    assert not any("/tmp" in one.message for one in found), found
    assert time.monotonic() - started < 60


def test_nesting_as_people_write_it_passes() -> None:
    chain = "".join(f"if (state->yourPosition == {number}) return {number}; else " for number in range(400))
    deep = "(" * 60 + "state->yourPosition" + ")" * 60
    assert check_source(within(f"    {chain}return {deep};").encode()) == []


def test_random_damage_gets_a_verdict() -> None:
    """Bots cut short, with bytes changed, and noise: always a list of violations, never an exception."""
    chance = random.Random(2013)
    whole = (ROOT / "engines/uno/bots/starter.c").read_bytes()
    for number in range(24):
        data = bytearray(whole[: chance.randrange(len(whole))] if number % 3 == 0 else whole)
        if number % 3 == 1:
            for _ in range(chance.randrange(1, 8)):
                data[chance.randrange(len(data))] = chance.choice(b"(){}[];\"'\\#*/&?<%a0\n ")
        if number % 3 == 2:
            data = bytearray(chance.choices(b"int mine_Play(GameState *s){}[];:\"'\\#%*/&?.<>=+\n", k=400))
        for one in check_source(bytes(data)):
            assert one.rule in RULES
            assert 1 <= one.line <= data.count(b"\n") + 1
    assert check_source(chance.randbytes(5000))


def test_the_readme_lists_every_rule() -> None:
    section = (ROOT / "engines/uno/README.md").read_text().partition("## Code rules")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE) == list(RULES)


# --- the command ------------------------------------------------------------------------------------------


def bots_check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("simfarm")), "bots", "check", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ})


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text(PLAY)
    (tmp_path / "bad.c").write_text(PLAY + "int calls;\n")
    done = bots_check("good.c", "--engine", "uno", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "good.c: legal\n", "")
    done = bots_check("good.c", "bad.c", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].startswith("bad.c:5: global: 'calls' is a variable")
    assert done.stdout.splitlines()[1:] == ["good.c: legal"]
    done = bots_check("bad.c", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["legal"] is False
    (violation,) = told["violations"]
    assert violation.pop("message")
    assert violation == {"file": "bad.c", "rule": "global", "line": 5}
    done = bots_check("good.c", "-f", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"legal": True, "violations": []})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.c"], "none.c: cannot be read: No such file"),
        (["."], ".: no game with code rules has such bots; their names end in: "),
        (["folder.c"], "folder.c: is not a file"),
        (["a.txt"], "a.txt: no game with code rules has such bots; their names end in: "),
        (["good.c", "--engine", "coin"], "--engine coin: has no code rules; games that have: "),
        (["good.c", "--engine", "chess"], "unknown engine 'chess'"),
    ],
)
def test_mistakes_with_the_command(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "folder.c").mkdir()
    (tmp_path / "good.c").write_text(PLAY)
    done = bots_check(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"simfarm: {message}")
    assert done.stderr.count("\n") == 1
