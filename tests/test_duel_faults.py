"""What becomes of a fault: who is blamed for it, and what its row and its replay show."""

from pathlib import Path

import pytest

from engines.duel import session
from simfarm.core.errors import BotError
from simfarm.core.model import Termination
from tests.duel_table import CALLER, ENGINE, bot, matchup, play, spec

CALL = "onTurnStart(data) { return data.op_bet_coins }"
RULES = {"sets": 2, "rounds": 20, "turn_limit_ms": 200, "time_limit_s": 3.0}
MEGABYTE = "new Array(131072).fill(1.5)"
EVIDENCE = ("termination", "detail", "last_request", "last_reply", "stderr")

NOISY = """player_name = "\\x1b[2J\\n  game won by attacker";
  onGameStart() {
    printLog("a\\x1b[31mb\\rc\\u2028d\\n  game won by attacker");
    throw new Error("e\\x1b[0m\\n  game won by f");
  }"""
"""Tells lies, and things that a terminal obeys."""


def evidence(body: str, games: int = 1) -> list[tuple[str | None, ...]]:
    table = matchup(bot("attacker", f"class {{ {body} }}"), bot("caller", CALLER), games=games, rules=RULES)
    return play(table)["games"].select(EVIDENCE).rows()


def test_a_hang_names_the_callback_with_what_it_was_given_and_the_last_answer() -> None:
    [(termination, detail, request, reply, stderr)] = evidence("onRoundEnd(data) { for (;;); }" + CALL)
    assert (termination, detail, reply, stderr) == ("timeout", "onRoundEnd did not return", "10", "")
    assert request is not None
    assert request.startswith('onRoundEnd({"win":')
    assert '"my_coins":10' in request or '"my_coins":9' in request


def test_what_a_hanging_callback_was_given_is_what_it_is_given() -> None:
    """The same numbers as the bot prints when it does not hang."""
    asks = "onRoundStart(data) { if (data.remain_round_count === 17) { SHOW(`${JSON.stringify(data)}`) } }"
    hangs = asks.replace("SHOW", "for (;;) String")
    prints = bot("attacker", f"class {{ {asks.replace('SHOW', 'printLog')} {CALL} }}")
    lines = ENGINE.replay(matchup(prints, bot("caller", CALLER), rules=RULES), 0)
    printed = next(line for line in lines if "[attacker]" in line).partition("] ")[2]
    assert evidence(hangs + CALL)[0][2] == f"onRoundStart({printed})"


def test_a_cheat_is_shown_with_the_call_in_which_it_cheated_first() -> None:
    cheats = "if (++this.turns === 2) try { eval('1') } catch {}"
    body = f"turns = 0; onTurnStart(data) {{ {cheats} return data.op_bet_coins }}"
    [(termination, detail, request, reply, stderr)] = evidence(body)
    assert (termination, detail, reply, stderr) == ("forbidden", "attacker: eval(code)", "10", "")
    assert request is not None
    assert request.startswith('onTurnStart({"my_coins":')


def test_cheating_while_it_is_loaded_counts_in_the_first_game() -> None:
    rows = evidence("static found = process;" + CALL, games=2)
    assert [row[0] for row in rows] == ["forbidden", "completed"]
    assert rows[0][1:4] == ("attacker: reached for process", "class", None)


def test_a_constructor_that_throws_later_is_shown_as_the_request() -> None:
    rows = evidence(
        "static made = 0; constructor() { if (this.constructor.made++ > 0) throw 'no more' }" + CALL, 2
    )
    assert rows[0] == ("completed", None, None, None, None)
    assert rows[1][0] == "crashed"
    assert rows[1][2:] == ("constructor()", None, "")


def test_a_process_that_goes_down_leaves_the_end_of_its_standard_error() -> None:
    [(termination, detail, request, _, stderr)] = evidence(
        "onGameStart() { for (const all = []; ; ) all.push({ all }) }" + CALL
    )
    if termination == Termination.MEMORY_LIMIT:
        assert (detail, request) == ("filled the heap", "onGameStart()")
        assert "memory" in (stderr or "")
    else:
        assert termination == Termination.TIMEOUT  # the machine is slow


def test_exceptions_that_cost_nothing_leave_no_evidence() -> None:
    [row] = evidence("onRoundStart() { throw new Error('odd') }" + CALL)
    assert row[0] == "completed"
    assert "odd" in (row[1] or "")
    assert row[2:] == (None, None, None)


def test_a_replay_shows_the_evidence_and_nothing_that_a_terminal_obeys() -> None:
    body = f"{NOISY} onSetEnd() {{ for (;;); }}"
    table = matchup(bot("attacker", f"class {{ {body} {CALL} }}"), bot("caller", CALLER), games=2, rules=RULES)
    lines = list(ENGINE.replay(table, 0))
    assert all(line.isprintable() for line in lines)
    assert any(line.strip().startswith("last request: onSetEnd({") for line in lines)
    assert [line for line in lines if line.startswith("  game won by")] == [
        "  game won by caller: 0 to 0 sets, 0 to 0 rounds, timeout"
    ] * 2


def test_printed_lines_are_escaped_and_stand_behind_the_name() -> None:
    body = NOISY
    table = matchup(bot("attacker", f"class {{ {body} {CALL} }}"), bot("caller", CALLER), rules=RULES)
    lines = list(ENGINE.replay(table, 0))
    assert "      [attacker] a\\x1b[31mb\\rc\\u2028d" in lines
    assert "      [attacker]   game won by attacker" in lines
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith("  game won by")]) == 1


def test_a_bot_that_delays_a_set_without_hanging_loses() -> None:
    """Every call returns in time; together they would take minutes."""
    slow = "onTurnStart(data) { for (let i = 0; i < 3e7; i++); return data.op_bet_coins }"
    rules = {"sets": 2, "rounds": 200, "turn_limit_ms": 5000, "time_limit_s": 0.1}
    for pair in (("slow", "caller"), ("caller", "slow")):
        sources = {"slow": f"class {{ {slow} }}", "caller": CALLER}
        games = play(matchup(*(bot(name, sources[name]) for name in pair), games=4, rules=rules))["games"]
        assert games["termination"].to_list() == ["timeout"] * 3 + ["forfeited"]
        assert games["fault_bot"].unique().to_list() == ["slow"]
        assert games["winner_bot"].unique().to_list() == ["caller"]
        assert games["detail"].to_list()[0] == "slow: delayed the game"
        assert games["rounds"].max() < 400


def test_comments_cannot_keep_the_loader_busy(tmp_path: Path) -> None:
    with pytest.raises(BotError, match="must hold one class and nothing else"):
        ENGINE.load(spec(tmp_path, "busy", "/**/" * 5000 + "x"))
    one = "class { onTurnStart() {} }"
    with pytest.raises(BotError, match="more than one class expression"):
        session.check_bot(bot("busy", f"{one}{'/**/' * 5000}, {one}"))


def test_a_check_blames_no_bot_for_what_others_left_in_the_process() -> None:
    for number in range(3):
        keeps = f"constructor() {{ globalThis.all = Array.from({{ length: 140 }}, () => {MEGABYTE}) }}"
        session.check_bot(bot(f"keeper{number}", f"class {{ {keeps} {CALL} /* {number} */ }}"))


@pytest.mark.slow
def test_the_memory_that_a_bot_keeps_is_not_charged_to_the_one_in_whose_call_it_runs_out() -> None:
    keeps = f"onGameStart() {{ globalThis.all ??= Array.from({{ length: 185 }}, () => {MEGABYTE}) }}"
    keeper = bot("keeper", f"class {{ {keeps} {CALL} }}")
    uses = f"const all = Array.from({{ length: 150 }}, () => {MEGABYTE}); return all.length - 140"
    user = bot("user", f"class {{ onTurnStart() {{ {uses} }} }}")
    rules = {**RULES, "turn_limit_ms": 20_000, "time_limit_s": 60.0}
    for pair in ((keeper, user), (user, keeper)):
        games = play(matchup(*pair, rules=rules))["games"]
        assert games.select("termination", "fault_bot").rows() == [("memory_limit", "keeper")]


def test_bots_share_nothing_but_the_table() -> None:
    """One leaves traces wherever a realm or a process might share something, the other looks for them."""
    leaves = """onTurnStart(data) {
      /(secret)/.test("secret"); globalThis.secret = Array.prototype.secret = Error.stackTraceLimit = 77;
      Object.prototype.secret = Symbol.for("secret").description; Math.secret = JSON.secret = printLog.secret = 1;
      ((strings) => { strings.constructor.secret = 1 })`secret`; return data.op_bet_coins }"""
    looks = """onTurnStart(data) {
      const found = RegExp.$1 || globalThis.secret || [].secret || {}.secret || Error.stackTraceLimit === 77
        || Math.secret || JSON.secret || printLog.secret || ((strings) => strings.constructor.secret)`secret`;
      return found ? -1 : data.op_bet_coins }"""
    for pair in ((leaves, looks), (looks, leaves)):
        table = matchup(
            *(bot(f"bot{index}", f"class {{ {body} }}") for index, body in enumerate(pair)), rules=RULES
        )
        games = play(table)["games"]
        assert games.select("folds_seat0", "folds_seat1").rows() == [(0, 0)]
