"""Matches between real processes: bots that behave, and every way in which one may not."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engines.blackjack.player import Entrant
from engines.blackjack.referee import Match
from engines.blackjack.rules import BlackjackRules
from engines.blackjack.table import Seat
from simfarm.core.model import Bot, Outcome, SourceFile, Termination

HONEST = """
import json, os, random, sys
luck = random.Random(int(os.environ["SIMFARM_SEED"]))
log = open(sys.argv[1], "ab") if len(sys.argv) > 1 else None
for line in sys.stdin.buffer:
    if log: log.write(line); log.flush()
    request = json.loads(line)
    action, amount = luck.choice(request["legal_actions"]), 0
    balance = request["st"]["you"]["balance"]
    if action == "BET":
        amount = luck.randint(request["min_bet"], int(min(request["max_bet"], balance)))
    if action == "INSURANCE":
        amount = luck.randint(0, request["max_insurance"])
        if (amount or request["max_insurance"]) > balance: action = "NO_INSURANCE"
    if len(sys.argv) > 2 and luck.random() < float(sys.argv[2]): action = luck.choice(["HIT", "SPLIT", "DOUBLE"])
    keys = ("match_id", "game_id", "bot_id")
    answer = {"type": "action_response", **{key: request[key] for key in keys}, "action": action, "amount": amount}
    print(json.dumps(answer, separators=luck.choice([None, (",", ":"), (" ,", " : ")])), flush=True)
"""
"""Plays at random what is legal, in one of three spellings; a log and a rate of mistakes by argument."""

PRELUDE = """
import json, os, sys, time
def ask():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def reply(request, amount=10):
    legal = request["legal_actions"]
    action = legal[-1] if len(legal) < 3 else "STAND"
    keys = ("match_id", "game_id", "bot_id")
    fields = {"type": "action_response", **{key: request[key] for key in keys}, "action": action, "amount": amount}
    return json.dumps(fields)
def say(text): os.write(1, text.encode())
"""
QUICK = BlackjackRules(reply_ms=300, startup_ms=5000)


def bot(name: str, source: str, *arguments: object) -> Entrant:
    """A Python bot from its source."""
    words = " ".join(str(argument) for argument in arguments)
    return Entrant(
        Bot(name, (SourceFile("bot.py", source.encode()),), command=f"exec {sys.executable} bot.py {words}")
    )


def misbehaving(name: str, body: str) -> Entrant:
    return bot(name, PRELUDE + body)


def command(name: str, text: str) -> Entrant:
    return Entrant(Bot(name, command=text))


def play(
    *entrants: Entrant, games: int = 5, rules: BlackjackRules = QUICK, seed: int = 1
) -> tuple[Match, dict[str, tuple[Seat, Outcome]]]:
    with Match(rules, entrants, seed, games) as match:
        for _ in match.play(each_game=False):
            pass
    return match, {seat.name: (seat, match.outcome(seat)) for seat in match.table.everyone}


def requests_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


VARIANTS = {
    "official": BlackjackRules(),
    "poor": BlackjackRules(start_balance=60, max_bet=20, min_bet=3),
    "crowded": BlackjackRules(decks=1, start_balance=10**6, penetration_reshuffle_fraction=1.0, split_by="value"),
    "liberal": BlackjackRules(
        **{"decks": 2, "split_by": "value", "resplit_aces": True, "hit_split_aces": True, "split_max_hands": 8},
        **{"blackjack_payout": 1.2, "natural_completes": False, "twenty_one_completes": False},
        **{"out_of_range": "clamp", "dealer_hits_soft_17": False, "double_allowed": "9_to_11"},
    ),
    "strict": BlackjackRules(
        **{"double_allowed": "none", "split_max_hands": 1, "insurance_allowed": False, "time_budget_ms": 7},
        **{"double_after_split": False, "resplit_aces": True},
    ),
}


@pytest.mark.parametrize("mistakes", [0, 0.002])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_table_in_c_is_the_table_in_python(variant: str, mistakes: float, tmp_path: Path) -> None:
    """Every request byte for byte, and every result, of the same bots on both."""
    rules = VARIANTS[variant]
    count, games = (9, 60) if variant == "crowded" else (4, 150)
    results = []
    logs = []
    for run, watcher in enumerate((None, lambda *_: None)):
        paths = [tmp_path / f"{run}-{number}" for number in range(count)]
        for path in paths:
            path.touch()
            path.chmod(0o666)
        entrants = [bot(f'b"{number}', HONEST, path, mistakes) for number, path in enumerate(paths)]
        with Match(rules, entrants, 77, games, watcher) as match:
            for table in match.play():
                assert sum(seat.balance for seat in table.everyone) + table.bank == 2 * count * rules.start_balance
        results.append(
            [
                (seat.balance, seat.games, seat.decisions, seat.wagered, match.outcome(seat))
                for seat in match.table.everyone
            ]
        )
        logs.append([path.read_bytes() for path in paths])
    assert results[0] == results[1]
    assert logs[0] == logs[1]
    assert b"".join(logs[0]).count(b"\n") > (100 if mistakes or variant == "poor" else 1000)
    if variant != "poor":
        assert any(outcome.termination.is_bot_fault for *_, outcome in results[0]) == (mistakes > 0)


LATER = "while True:\n r = ask(); say(({} if r['phase'] == 'bet' and r['game_id'] > 2 else reply(r)) + '\\n')"
FAULTS = {
    "late": ("reply(ask()); time.sleep(60)", Termination.TIMEOUT, "no reply within 5300 ms"),
    "late later": (
        "say(reply(ask()) + '\\n'); ask(); time.sleep(60)",
        Termination.TIMEOUT,
        "no reply within 300 ms",
    ),
    "half a line": ("say(reply(ask()) + '\\n'); say(reply(ask())); time.sleep(60)", Termination.TIMEOUT, ""),
    "ends": ("ask(); sys.exit(3)", Termination.EXITED, "exit code 3"),
    "ends with half a line": ("say(reply(ask())); sys.exit(0)", Termination.EXITED, "exit code 0"),
    "closes its output": ("ask(); os.close(1); time.sleep(60)", Termination.EXITED, "closed its output"),
    "raises": ("ask(); raise ValueError('oops')", Termination.EXITED, "exit code 1"),
    "signal": ("ask(); os.kill(os.getpid(), 11)", Termination.CRASHED, "signal 11"),
    "blank line": ("ask(); say('\\n'); time.sleep(60)", Termination.UNPARSABLE, "a blank line"),
    "garbage": ("ask(); say('HIT ME\\n'); time.sleep(60)", Termination.UNPARSABLE, "not JSON"),
    "binary": ("ask(); os.write(1, bytes(range(11, 256)) + b'\\n'); time.sleep(60)", Termination.UNPARSABLE, ""),
    "endless line": ("ask()\nwhile True: say('x' * 4096)", Termination.OUTPUT_LIMIT, "more than 65536 bytes"),
    "endless lines": ("ask()\nwhile True: say('x\\n' * 4096)", Termination.UNPARSABLE, ""),
    "extra line": ("say(reply(ask()) + '\\n' + '{}\\n'); time.sleep(60)", Termination.UNPARSABLE, "is missing"),
    "answers twice": (
        "while True:\n r = reply(ask()) + '\\n'; say(r + r)",
        Termination.ILLEGAL,
        "",
    ),
    "illegal": ("say(reply(ask()).replace('BET', 'HIT') + '\\n'); ask()", Termination.ILLEGAL, "HIT when asked"),
    "too much": ("say(reply(ask(), 101) + '\\n'); ask()", Termination.ILLEGAL, "bet 101, allowed 1 to 100"),
    # later answers are read in C
    "wrong game later": (
        LATER.format("reply({**r, 'game_id': r['game_id'] - 1})"),
        Termination.MISMATCHED,
        "game_id",
    ),
    "wrong bot later": (LATER.format("reply({**r, 'bot_id': 'b'})"), Termination.MISMATCHED, "bot_id is"),
    "wrong match later": (LATER.format("reply({**r, 'match_id': 'm'})"), Termination.MISMATCHED, "match_id is"),
    "too much later": (LATER.format("reply(r, 101)"), Termination.ILLEGAL, "bet 101, allowed 1 to 100"),
    "poor later": (LATER.format("reply(r, 99999999999)"), Termination.ILLEGAL, "bet 99999999999"),
    "no number later": (LATER.format("reply(r).replace('10}', '010}')"), Termination.UNPARSABLE, "not JSON"),
    "half a bet later": (LATER.format("reply(r, 10.5)"), Termination.UNPARSABLE, "10.5, not a whole"),
    "no amount later": (
        LATER.format("reply(r).split(', \"amount')[0] + '}'"),
        Termination.UNPARSABLE,
        "without an",
    ),
    "no action later": (LATER.format("reply(r).replace('BET', 'PASS')"), Termination.ILLEGAL, "PASS when asked"),
    "wrong game": (
        "say(reply({**ask(), 'game_id': 7}) + '\\n'); ask()",
        Termination.MISMATCHED,
        "game_id is 7, not 1",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    body, termination, detail = FAULTS[name]
    rules = QUICK if name != "late" else BlackjackRules(reply_ms=300, startup_ms=1000)
    started = time.monotonic()
    match, found = play(misbehaving("bad", body), bot("good", HONEST), rules=rules)
    assert time.monotonic() - started < 8
    seat, outcome = found["bad"]
    assert outcome.termination is termination, outcome
    assert detail.replace("5300", "1300") in outcome.detail
    assert (match.players["bad"].evidence.last_request or "").endswith('"time_budget_ms":50}')
    assert seat.balance == 0
    good, fate = found["good"]
    assert (fate.termination, good.games) == (Termination.COMPLETED, 5)
    assert match.table.games_completed == 5


def test_stderr_of_a_faulty_bot_is_kept() -> None:
    match, _ = play(misbehaving("bad", "sys.stderr.write('x' * 5000 + 'the end'); sys.exit(1)"), bot("b", HONEST))
    tail = match.players["bad"].evidence.stderr
    assert tail is not None
    assert tail.endswith("xthe end")
    assert len(tail) == 2000


def test_a_command_that_cannot_run() -> None:
    match, found = play(command("bad", "./no-such-bot"), bot("good", HONEST))
    assert found["bad"][1].termination is Termination.NOT_STARTED
    assert "no-such-bot" in (match.players["bad"].evidence.stderr or "")
    assert found["good"][0].games == 5


LOOSE: dict[str, Any] = {"strict_ids": False, "startup_ms": 0, "reply_ms": 300}
FITTING_SEED = 36


def test_an_output_that_the_shell_keeps_open_is_late() -> None:
    """Without ``exec`` the shell waits for the bot and holds its output: end of file comes when the shell ends."""
    body = (SourceFile("bot.py", f"{PRELUDE}\nask(); os.close(1); time.sleep(60)".encode()),)
    entrant = Entrant(Bot("bad", body, command=f"{sys.executable} bot.py; true"))
    rules = BlackjackRules(startup_ms=500, reply_ms=300)
    assert play(entrant, rules=rules)[1]["bad"][1].termination is Termination.TIMEOUT
    entrant = Entrant(Bot("bad", command="kill -SEGV $$"))
    assert play(entrant, rules=rules)[1]["bad"][1].termination is Termination.CRASHED
    entrant = Entrant(Bot("bad", command="sh -c 'kill -SEGV $$'; exit $?"))
    assert play(entrant, rules=rules)[1]["bad"][1].termination is Termination.CRASHED


def test_a_bot_that_never_reads_is_late() -> None:
    """Silent, it is late at once; talking blindly, it is late when the pipe to it is full: 64 KiB of requests."""
    started = time.monotonic()
    _, found = play(command("silent", "sleep 60"), rules=BlackjackRules(**LOOSE))
    assert found["silent"][1].termination is Termination.TIMEOUT
    bets = r"""while :; do echo '{"action":"BET","amount":1}'; done"""
    _, found = play(command("blind", bets), rules=BlackjackRules(**LOOSE))
    assert found["blind"][1].termination is Termination.ILLEGAL
    # with these cards each game asks exactly for a bet and a play, so the blind answers fit until the pipe is full
    fitting = r"""printf '{"action":"BET","amount":1}\n{"action":"STAND"}\n%.0s' $(seq 600); sleep 60"""
    rules = BlackjackRules(**LOOSE, insurance_allowed=False, natural_completes=False)
    seat, outcome = play(command("ahead", fitting), rules=rules, games=600, seed=FITTING_SEED)[1]["ahead"]
    assert outcome.termination is Termination.TIMEOUT
    assert 40 < seat.decisions < 70
    assert time.monotonic() - started < 5


GOOD = {
    "spelled with spaces": "while True: say(reply(ask()) + '\\n')",
    "CRLF": "while True: say(reply(ask()) + '\\r\\n')",
    "in pieces": "while True:\n for c in reply(ask()) + '\\n': say(c)",
    "slow but in time": "while True:\n r = ask(); time.sleep(0.05); say(reply(r) + '\\n')",
    "floods its stderr": "while True:\n sys.stderr.write('z' * 200_000); say(reply(ask()) + '\\n')",
    "closes its stderr": "os.close(2)\nwhile True: say(reply(ask()) + '\\n')",
    "starts slowly": "time.sleep(1)\nwhile True: say(reply(ask()) + '\\n')",
    "extra fields": "while True: say(reply(ask())[:-1] + ',\"note\":[1,2]}\\n')",
    "with a child": "import subprocess; subprocess.Popen(['sleep', '60'])\nwhile True: say(reply(ask()) + '\\n')",
    "ends in time": "for _ in range(1000): say(reply(ask()) + '\\n')",
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_no_fault(name: str) -> None:
    seat, outcome = play(misbehaving("odd", GOOD[name]), bot("good", HONEST))[1]["odd"]
    assert outcome == Outcome(Termination.COMPLETED), outcome
    assert seat.games == 5


def test_a_line_written_ahead_is_the_next_answer() -> None:
    """Also when the bot has ended by then: what it said counts."""
    rules = BlackjackRules(strict_ids=False, reply_ms=300)
    ahead = r"""printf '{"action":"BET","amount":5}\n{"action":"STAND"}\n'"""
    seat, outcome = play(command("ahead", ahead), rules=rules, games=2, seed=4)[1]["ahead"]
    assert outcome.termination is Termination.EXITED
    assert (seat.games, seat.decisions) == (1, 3)
    assert seat.wagered == 5


def test_bots_get_a_seed_and_a_folder_of_their_own() -> None:
    body = (
        "open('mine', 'w').close()\n"
        "sys.stderr.write(os.environ['SIMFARM_SEED'] + ' ' + os.getcwd() + ' ' + ' '.join(sorted(os.listdir('.'))))\n"
        "ask()"
    )
    seen = []
    for seed in (1, 1, 2):
        match, _ = play(misbehaving("a", body), misbehaving("b", body), seed=seed)
        seen += [(player.evidence.stderr or "").split(maxsplit=2) for player in match.players.values()]
    seeds, folders, files = zip(*seen, strict=True)
    assert seeds[:2] == seeds[2:4]
    assert len(set(seeds)) == 4
    assert len(set(folders)) == 6
    assert set(files) == {"bot.py mine"}
    assert not any(Path(folder).exists() for folder in folders)


def test_nobody_can_work_out_the_cards() -> None:
    """What bots are told comes from the match's seed by a hash, not by arithmetic that can be undone."""
    from engines.blackjack.shoe import hidden
    from simfarm.core.seeds import derive

    told = {hidden(5, "match"), hidden(5, "bot", "a"), hidden(5, "shoe"), hidden(5, "order")}
    assert len(told) == 4
    assert not told & {derive(5, word) for word in ("match", "bot", "shoe", "order")}


def test_matches_leave_nothing_behind() -> None:
    flat = command(
        "flat",
        r"""while read line; do case $line in *'"phase":"bet"'*) echo '{"action":"BET","amount":9}';;"""
        r""" *'"phase":"i'*) echo '{"action":"NO_INSURANCE"}';; *) echo '{"action":"STAND"}';; esac; done""",
    )
    rules = BlackjackRules(strict_ids=False)

    def resources() -> tuple[int, int]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(os.listdir("/proc/self/fd")), len(children)

    play(flat, rules=rules, games=10)
    before = resources()
    for seed in range(40):
        assert play(flat, rules=rules, games=10, seed=seed)[1]["flat"][1].termination is Termination.COMPLETED
    assert resources() == before


def test_reply_times_are_recorded() -> None:
    slow = misbehaving("slow", "while True:\n r = ask(); time.sleep(0.02); say(reply(r) + '\\n')")
    match, found = play(slow, bot("b", HONEST))
    times = match.players["slow"].reply_seconds
    assert len(times) == found["slow"][0].decisions
    assert min(times) >= 0.02
