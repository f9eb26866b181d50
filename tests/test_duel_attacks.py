"""Bots that cheat, break or never return: what each gets for it. Every attack has the outcome that is expected of it.

The victim calls every bet. An attack that gets nowhere leaves exactly the rows that its harmless twin leaves: a bot
that answers alike and does nothing else.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from engines.duel import node
from simfarm.core.model import Termination
from tests.duel_table import CALLER, ENGINE, bot, matchup, play, timeless

ROOT = Path(__file__).parents[1]
RULES = {"sets": 2, "rounds": 20, "turn_limit_ms": 200, "time_limit_s": 3.0}
CALL = "return data.op_bet_coins"

NOTHING, FOLDS = "nothing comes of it", "gives up every round in which it is asked"


@dataclass(frozen=True)
class Attack:
    """A class body and what comes of it."""

    name: str
    body: str
    outcome: str | tuple[Termination, ...]
    games: int = 2
    turn_limit_ms: int = 200


def turn(code: str) -> str:
    """A body whose onTurnStart does something and then calls."""
    return f"onTurnStart(data) {{ {code}; {CALL} }}"


def quietly(code: str) -> str:
    """The same, with what it throws caught."""
    return turn(f"try {{ {code} }} catch {{}}")


def gives_up_if(condition: str) -> str:
    """A body that calls unless something is so."""
    return f"onTurnStart(data) {{ return {condition} ? -1 : data.op_bet_coins }}"


FORBIDDEN = (Termination.FORBIDDEN,)
HUNG = (Termination.TIMEOUT,)
FULL = (Termination.MEMORY_LIMIT, Termination.TIMEOUT)
"""Whether the heap is full or the time over first depends on the machine."""

ATTACKS = [
    # Ways out of the realm
    Attack("Function constructor", quietly("Function('return this')()"), FORBIDDEN),
    Attack("constructor of a function", quietly("(() => 0).constructor('return process')()"), FORBIDDEN),
    Attack(
        "constructor of an async function",
        quietly("Object.getPrototypeOf(async () => 0).constructor('return 1')()"),
        FORBIDDEN,
    ),
    Attack(
        "constructor of a generator",
        quietly("new (Object.getPrototypeOf(function* () {}).constructor)('yield 1')"),
        FORBIDDEN,
    ),
    Attack("constructor of the callback that prints", quietly("printLog.constructor('return 1')()"), FORBIDDEN),
    Attack("eval", quietly("eval('1')"), FORBIDDEN),
    Attack("process", quietly("process.exit(0)"), FORBIDDEN),
    Attack("process by a made-up name", quietly("globalThis['pro' + 'cess'].exit(0)"), FORBIDDEN),
    Attack("require", quietly("require('fs').writeFileSync('/tmp/x', '')"), FORBIDDEN),
    Attack("WebAssembly", quietly("new WebAssembly.Memory({ initial: 1, shared: true, maximum: 2 })"), FORBIDDEN),
    Attack("SharedArrayBuffer", quietly("new SharedArrayBuffer(8)"), FORBIDDEN),
    Attack("Atomics.wait", quietly("Atomics.wait(new Int32Array(4), 0, 0, 1000)"), FORBIDDEN),
    Attack("a realm of its own", quietly("new ShadowRealm().evaluate('1')"), FORBIDDEN),
    Attack("timer", quietly("setTimeout(() => 0, 1000)"), FORBIDDEN),
    Attack("network", quietly("fetch('http://127.0.0.1/')"), FORBIDDEN),
    Attack("worker", quietly("new Worker('data:text/javascript,0')"), FORBIDDEN),
    Attack("import of a builtin", turn("import('fs').then((fs) => fs.writeFileSync('/tmp/x', ''))"), NOTHING),
    Attack("import of the opponent's source", turn("import('./caller.js')"), NOTHING),
    Attack("import of a file", turn("import('file:///etc/passwd'); import('/proc/self/environ')"), NOTHING),
    Attack("import of a text", turn("import('data:text/javascript,process.exit(1)')"), NOTHING),
    Attack(
        "weak references and what else is gone",
        gives_up_if(
            "['WeakRef', 'FinalizationRegistry', 'WeakMap', 'WeakSet', 'Intl', 'URL'].some((n) => n in globalThis)"
        ),
        NOTHING,
    ),
    Attack(
        "objects of another realm, where the stack ends",
        """foreign = 0;
        climb(left) {
          try { this.climb(left + 1) } catch {
            for (const reach of [() => import("fs"), () => Promise.reject(1), () => new Error("x").stack,
              () => null.x, () => printLog("x"), () => new Date(), () => Math.random(), () => [].sort(() => 0)]) {
              let got;
              try { got = reach() } catch (error) { got = error }
              if (typeof got === "object" && !(got instanceof Object)) this.foreign++;
            }
            if (left % 4) throw 1;
          }
        }
        onTurnStart(data) { try { this.climb(1) } catch {} return this.foreign === 0 ? data.op_bet_coins : -1 }""",
        NOTHING,
        games=1,
        turn_limit_ms=5000,
    ),
    # Changing what others use
    Attack(
        "prototype pollution",
        """onGameStart() {
          Object.prototype.my_coins = 1; Object.prototype.onTurnStart = () => -1; Array.prototype[0] = 99;
          Number.prototype.valueOf = () => 1; Object.prototype.then = () => { throw 1 };
          Function.prototype.call = Function.prototype.apply = () => { throw 1 };
          String.prototype.slice = String.prototype.startsWith = () => { throw 1 };
          Array.prototype[Symbol.iterator] = () => { throw 1 };
          Object.defineProperty(Object.prototype, "op_bet_coins", { set() { throw 1 }, get() { return 1e9 } });
        }"""
        + turn(""),
        NOTHING,
        games=1,
    ),
    Attack(
        "built-ins replaced",
        "onGameStart() { Reflect.apply = Math.floor = () => { throw 1 }; globalThis.String = globalThis.Set = 0 }"
        + turn(""),
        NOTHING,
        games=1,
    ),
    Attack(
        "data changed", turn("const bet = data.op_bet_coins; data.my_coins = 1e9; Object.freeze(data)"), NOTHING
    ),
    Attack("printLog deleted", turn("delete globalThis.printLog"), NOTHING),
    Attack("clock changed", turn("Date.now = () => 1e15; performance.now = () => 1e15"), NOTHING),
    Attack("caller of the callback", quietly("arguments.callee.caller; this.onTurnStart.caller"), NOTHING),
    Attack(
        "call sites", quietly("Error.prepareStackTrace = (error, sites) => sites; new Error().stack[0]"), NOTHING
    ),
    Attack("call sites by another Error", quietly("globalThis.Error = { prepareStackTrace: () => 1 }"), NOTHING),
    # Answers that are none
    *(
        Attack(f"answer {answer}", f"onTurnStart(data) {{ return {answer} }}", FOLDS)
        for answer in (
            "NaN",
            "Infinity",
            "undefined",
            "null",
            "'10'",
            "10n",
            "10.5",
            "data",
            "() => 10",
            "[10]",
            "new Number(10)",
            "Promise.resolve(10)",
            "Symbol.iterator",
            "{ valueOf() { for (;;); }, toString() { throw 1 }, [Symbol.toPrimitive]() { for (;;); } }",
            "new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 1 }, ownKeys() { for (;;); } })",
            "-0",
            "'x'.repeat(2 ** 28)",
            "data.op_bet_coins - 1",
            "data.my_coins + 1",
        )
    ),
    Attack("an async callback", "async onTurnStart(data) { return data.op_bet_coins }", FOLDS),
    Attack("throws", "onTurnStart() { throw null }", FOLDS),
    Attack("throws what cannot be shown", "onTurnStart() { throw { get stack() { throw 1 } } }", FOLDS),
    Attack(
        "throws a proxy that throws",
        "onTurnStart() { throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 1 } }) }",
        FOLDS,
    ),
    Attack("throws half a character", "onTurnStart() { throw '\\ud800' }", FOLDS),
    Attack("is named by half a character", "player_name = '\\ud800';" + turn(""), NOTHING),
    Attack("endless recursion", "onTurnStart(data) { return this.onTurnStart(data) }", FOLDS),
    Attack("string bomb", "onTurnStart() { for (let text = 'x'; ; text += text); }", FOLDS),
    # Never returning
    Attack(
        "endless loop while it is loaded", "static { for (;;); }" + turn(""), (Termination.NOT_STARTED,), games=1
    ),
    Attack("endless loop in the constructor", "constructor() { for (;;); }", (Termination.NOT_STARTED,), games=1),
    Attack("endless loop", "onTurnStart() { for (;;); }", HUNG),
    Attack("endless loop at the end of a round", "onRoundEnd() { for (;;); }" + turn(""), HUNG, games=1),
    Attack("endless loop at the end of the game", "onGameEnd() { for (;;); }" + turn(""), HUNG, games=1),
    Attack("endless getter", "n = 0; get onSetEnd() { for (;;); }" + turn(""), HUNG, games=1),
    Attack("endless error message", "onTurnStart() { throw { get stack() { for (;;); } } }", HUNG, games=1),
    Attack("catastrophic regex", turn("/^(a+)+$/.test('a'.repeat(60) + 'b')"), HUNG, games=1),
    Attack("BigInt power", "onTurnStart() { for (let n = 3n ** 999999n; ; n *= n); }", HUNG, games=1),
    Attack("native fill", turn("new Array(1e9).fill(0)"), FULL, games=1),
    Attack("microtask loop", turn("const again = () => Promise.resolve().then(again); again()"), NOTHING),
    # Filling memory and output
    Attack("heap bomb", "onTurnStart() { for (const all = []; ; ) all.push({ all }); }", FULL, games=1),
    Attack(
        "leak over callbacks",
        turn("for (let i = 0; i < 5e5; i++) (globalThis.all ??= []).push({ i })"),
        FULL,
        games=1,
    ),
    Attack("buffers", turn("(globalThis.all ??= []).push(new Uint8Array(2e7).fill(1))"), FULL, games=1),
    Attack("printLog flood", turn("for (let i = 0; i < 1000; i++) printLog('x'.repeat(10000))"), NOTHING),
    Attack("console flood", turn("for (let i = 0; i < 1000; i++) console.log({ i })"), NOTHING),
    Attack("a line of 256 MB", turn("printLog('x'.repeat(2 ** 28))"), NOTHING, games=1, turn_limit_ms=5000),
    Attack("a name of 256 MB", "player_name = 'x'.repeat(2 ** 28);" + turn(""), NOTHING),
    Attack(
        "an error of 256 MB",
        "onRoundStart() { throw 'x'.repeat(2 ** 28) }" + turn(""),
        NOTHING,
        games=1,
        turn_limit_ms=5000,
    ),
    # Only later
    Attack(
        "a constructor that throws from the second game on",
        "static made = 0; constructor() { if (this.constructor.made++ > 0) throw 1 }" + turn(""),
        (Termination.COMPLETED, Termination.CRASHED),
    ),
    Attack(
        "a constructor that loops from the second game on",
        "static made = 0; constructor() { while (this.constructor.made++ > 0); }" + turn(""),
        (Termination.COMPLETED, Termination.NOT_STARTED),
    ),
]


def rows(body: str, games: int, turn_limit_ms: int = 200) -> dict[str, pl.DataFrame]:
    rules = {**RULES, "turn_limit_ms": turn_limit_ms}
    return play(matchup(bot("attacker", f"class {{ {body} }}"), bot("caller", CALLER), games=games, rules=rules))


@pytest.fixture(scope="module")
def twins() -> dict[str, pl.DataFrame]:
    """What harmless bots leave in two games: one that calls and one that always gives up."""
    return {NOTHING: rows(turn(""), 2)["sets"], FOLDS: rows("onTurnStart() { return -1 }", 2)["sets"]}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack(attack: Attack, twins: dict[str, pl.DataFrame]) -> None:
    found = rows(attack.body, attack.games, attack.turn_limit_ms)
    games = found["games"]
    assert games.height == attack.games
    if isinstance(attack.outcome, str):
        assert found["sets"].equals(twins[attack.outcome].filter(pl.col("game") < attack.games))
        assert games["termination"].unique().to_list() == ["completed"]
        assert games["fault_bot"].null_count() == attack.games
        assert games["attempts_seat0"].sum() == 0
        return
    for termination, fault, winner, detail, request in games.select(
        "termination", "fault_bot", "winner_bot", "detail", "last_request"
    ).iter_rows():
        assert Termination(termination) in attack.outcome
        if Termination(termination) is not Termination.COMPLETED:
            assert (fault, winner) == ("attacker", "caller")
            assert detail
            assert request
    if attack.outcome == FORBIDDEN:
        assert games["attempts_seat0"].min() > 0


def test_there_are_enough_attacks() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 20


def test_games_go_on_after_a_bot_that_never_returns() -> None:
    body = "static made = 0; constructor() { this.number = this.constructor.made++ }"
    body += "onSetStart() { while (this.number === 1); }" + turn("")
    games = rows(body, 4)["games"]
    assert games["termination"].to_list() == ["completed", "timeout", "completed", "timeout"], (
        "game 2 is played in new realms, in which the bot counts from 0"
    )
    assert games["rounds"].to_list()[1] == 0
    assert "onSetStart did not return" in games["detail"][1]


def test_a_bot_that_keeps_costing_the_process_forfeits_the_rest_of_its_block() -> None:
    games = rows("onTurnStart() { for (;;); }", 6)["games"]
    assert games["termination"].to_list() == ["timeout"] * 3 + ["forfeited"] * 3
    assert games["winner_bot"].unique().to_list() == ["caller"]


def test_the_seat_that_hangs_is_found_in_any_seating() -> None:
    loop, call = bot("attacker", "class { onTurnStart() { for (;;); } }"), bot("caller", CALLER)
    for pair, seating in (((loop, call), (1, 0)), ((call, loop), (0, 1))):
        games = play(matchup(*pair, rules=RULES, seatings=(seating,)))["games"]
        assert games["fault_bot"].to_list() == ["attacker"]
        assert games["winner_bot"].to_list() == ["caller"]


@pytest.mark.slow
def test_the_bot_that_keeps_the_memory_is_blamed_and_not_the_one_that_uses_it_now() -> None:
    """Most is kept from the start of the first of two games; the other's little makes it too much in the second."""
    megabyte = "new Array(131072).fill(1.5)"
    hoard = f"onGameStart() {{ globalThis.all ??= Array.from({{ length: 150 }}, () => {megabyte}) }}"
    hoarder = bot("hoarder", f"class {{ {hoard} {turn('')} }}")
    spends = f"if (this.constructor.games === 2) (this.all ??= []).push({megabyte})"
    spender = bot(
        "spender", f"class {{ static games = 0; onGameStart() {{ this.constructor.games++ }} {turn(spends)} }}"
    )
    rules = {**RULES, "rounds": 200, "turn_limit_ms": 20_000, "time_limit_s": 60.0}
    games = play(matchup(spender, hoarder, games=2, rules=rules))["games"]
    assert games.select("termination", "fault_bot").rows() == [("completed", None), ("memory_limit", "hoarder")]


def test_two_cheats_both_lose() -> None:
    cheat = "class { onTurnStart() { return eval('10') } }"
    games = play(matchup(bot("one", cheat), bot("two", cheat), rules=RULES))["games"]
    assert games["termination"].to_list() == ["forbidden"]
    assert games["winner_bot"].to_list() == [None]


PRINTS = """class {
  static games = 0;
  onGameStart() {
    const stack = new Error("here").stack;
    printLog(`${Bot.games++} ${Math.random()} ${Date.now()} ${new Date().toISOString()} ${performance.now()}`);
    printLog(stack);
  }
  onTurnStart(data) { return data.op_bet_coins }
}""".replace("Bot.games", "this.constructor.games")


def printed(block: int = 0, seed: int = 1, games: int = 2) -> list[str]:
    table = matchup(bot("printer", PRINTS), bot("caller", CALLER), games=games, blocks=9, seed=seed, rules=RULES)
    return [line for line in ENGINE.replay(table, block) if "[printer]" in line]


def test_luck_and_time_are_the_same_in_a_second_run_and_differ_between_games() -> None:
    first = printed()
    node._kept.clear()
    assert printed() == first
    assert len({line.split()[2] for line in first if "Z" in line}) == 2
    assert printed(block=1) != first
    assert printed(seed=2) != first


def test_statics_last_a_block_and_no_longer() -> None:
    for block in (0, 1):
        counts = [line.split()[1] for line in printed(block) if "Z" in line]
        assert counts == ["0", "1"]


def test_a_stack_trace_names_the_bots_file_and_nothing_of_the_referee() -> None:
    lines = [line.strip() for line in printed(games=1)]
    assert any("onGameStart (printer.js:4)" in line for line in lines)
    assert not any("mjs" in line or "node:" in line for line in lines)


@pytest.mark.parametrize(
    "handle", ["Error.prepareStackTrace = show", "globalThis.Error = { prepareStackTrace: show }"]
)
def test_call_sites_stay_out_of_reach(handle: str) -> None:
    code = f"const show = (error, sites) => sites.map(String).join(' '); try {{ {handle} }} catch {{}}"
    code += "try { null.x } catch (error) { printLog(error.stack) }"
    looker = bot("looker", f"class {{ onGameStart() {{ {code} }} {turn('')} }}")
    lines = [
        line for line in ENGINE.replay(matchup(looker, bot("caller", CALLER), rules=RULES), 0) if "looker]" in line
    ]
    assert "TypeError" in lines[0]
    assert not any("mjs" in line or "node:" in line for line in lines)


def test_a_flood_of_printed_lines_is_cut_in_the_log() -> None:
    body = turn("for (let i = 0; i < 2000; i++) printLog('x'.repeat(1e5))")
    table = matchup(
        bot("attacker", f"class {{ {body} }}"), bot("caller", CALLER), rules={**RULES, "time_limit_s": 60.0}
    )
    lines = list(ENGINE.replay(table, 0))
    flood = [line for line in lines if "[attacker]" in line]
    assert len(flood) == 20_001
    assert "not kept" in flood[-1]
    assert max(map(len, lines)) < 1100


LONELY = """
from engines.duel import node
from tests.duel_table import CALLER, bot, matchup, play
loop = bot("loop", "class { onTurnStart() { for (;;); } }")
with node.borrowed() as one:
    print(one.pid, flush=True)
play(matchup(loop, bot("caller", CALLER), rules={"turn_limit_ms": 600_000}))
"""


def test_a_killed_worker_takes_a_looping_bot_along() -> None:
    worker = subprocess.Popen([sys.executable, "-c", LONELY], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    began = node.cpu_seconds(pid)
    while node.cpu_seconds(pid) < began + 0.3:
        time.sleep(0.02)
    worker.kill()
    worker.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the referee outlives its worker"
        time.sleep(0.02)


def test_a_process_that_has_opened_many_realms_is_replaced_within_a_shard() -> None:
    table = matchup(bot("odds", ""), bot("caller", CALLER), blocks=40, rules={"sets": 1, "rounds": 3})
    with node.borrowed() as before:
        pass
    assert play(table)["games"].height == 40
    with node.borrowed() as after:
        assert after.pid != before.pid
    assert not before.alive


def test_rows_do_not_depend_on_what_the_process_played_before() -> None:
    """A process that has seen hostile bots plays the next pair like a new one."""
    pair = matchup(bot("odds", ""), bot("sample", ""), games=2, rules={"sets": 5})
    for attack in ATTACKS[:4]:
        rows(attack.body, 1)
    used = play(pair)
    while node._kept:
        node._kept.pop().close()
    new = play(pair)
    for name, frame in used.items():
        assert timeless(frame).equals(timeless(new[name]))
