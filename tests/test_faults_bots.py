"""The fault suite's bots: whatever a bot does, its match has an outcome with a reason, and nothing of it is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.blackjack.rules import BlackjackRules
from simfarm.core import process as processes
from simfarm.core.errors import ToolError
from simfarm.core.lines import LineChannel
from simfarm.core.model import Bot, Termination
from simfarm.core.process import BotProcess, Limits, Walls, check_walls
from tests.test_blackjack_match import HONEST, bot, command, misbehaving, play

ROOT = Path(__file__).parents[1]
RULES = BlackjackRules(reply_ms=300, startup_ms=1500, processes=24)
RAW = "line = reply(ask()).encode()\nos.write(1, {} + b'\\n'); time.sleep(60)"
REPLIES = {
    "bad UTF-8": RAW.format("line.replace(b'BET', b'B\\xc3T')"),
    "BOM": RAW.format("b'\\xef\\xbb\\xbf' + line"),
    "NUL": RAW.format("line.replace(b'BET', b'BET\\0')"),
    "NUL behind": RAW.format("line + b'\\0'"),
    "NaN": RAW.format("line.replace(b'10}', b'NaN}')"),
    "1e999": RAW.format("line.replace(b'10}', b'1e999}')"),
    "50,000 digits": RAW.format("line.replace(b'10}', b'1' * 50_000 + b'}')"),
    "deep nesting": RAW.format("line[:-1] + b',\"x\":' + b'[' * 30_000 + b']' * 30_000 + b'}'"),
    "duplicate keys": RAW.format("line[:-1] + b',\"amount\":20}'"),
}
WRONG = {
    **{name: (body, Termination.UNPARSABLE) for name, body in REPLIES.items()},
    "exits at once": ("sys.exit(0)", Termination.EXITED),
    "closes its input": ("os.close(0); time.sleep(60)", Termination.TIMEOUT),
    "closes both": ("os.close(0); os.close(1); time.sleep(60)", Termination.EXITED),
    "drips": ("ask()\nwhile True: say('{'); time.sleep(0.02)", Termination.TIMEOUT),
    "answers late": ("r = ask(); time.sleep(5); say(reply(r) + '\\n')", Termination.TIMEOUT),
    "floods its stderr for ever": ("ask()\nwhile True: os.write(2, b'z' * 65536)", Termination.TIMEOUT),
    "stops itself": ("import signal; ask(); os.kill(os.getpid(), signal.SIGSTOP)", Termination.TIMEOUT),
    "ignores SIGTERM": (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); ask(); time.sleep(60)",
        Termination.TIMEOUT,
    ),
    "ends with a child that holds its output": (
        "import subprocess; ask(); subprocess.Popen(['setsid', 'sleep', '60']); sys.exit(4)",
        Termination.EXITED,
    ),
    "fills a file": ("ask(); os.system('exec head -c 100000000 /dev/zero > f'); sys.exit(9)", Termination.EXITED),
    "is killed by its file": (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "f = open('f', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        Termination.OUTPUT_LIMIT,
    ),
    "fills its memory": ("ask(); x = bytearray(8 << 30)", Termination.MEMORY_LIMIT),
    "forks for ever": ("ask()\nwhile True:\n try: os.fork()\n except OSError: pass", Termination.FORBIDDEN),
    "starts many": (
        "import subprocess; ask()\nfor _ in range(40): subprocess.Popen(['sleep', '60'])\ntime.sleep(60)",
        Termination.FORBIDDEN,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_a_fault(name: str) -> None:
    body, termination = WRONG[name]
    match, found = play(misbehaving("bad", body), bot("good", HONEST), rules=RULES, games=3)
    outcome = found["bad"][1]
    assert outcome.termination is termination, (outcome, match.players["bad"].evidence)
    assert outcome.detail
    evidence = match.players["bad"].evidence
    assert evidence.last_request is not None
    assert evidence.last_request.endswith('"time_budget_ms":50}')
    assert found["good"][1].termination is Termination.COMPLETED


def test_a_wrong_reply_is_kept_in_print() -> None:
    body = RAW.format("b'\\x1b[2J\\xff' + line")
    match, _ = play(misbehaving("bad", "sys.stderr.write('because')\nsys.stderr.flush()\n" + body), rules=RULES)
    evidence = match.players["bad"].evidence
    assert (evidence.last_reply or "").startswith("\\x1b[2J\\xff{")
    assert evidence.stderr == "because"
    match, _ = play(misbehaving("bad", "ask(); say('{\"half'); time.sleep(60)"), rules=RULES)
    assert match.players["bad"].evidence.last_reply == '{"half'


def test_the_longest_line_is_an_option() -> None:
    body = "while True: say(reply(ask())[:-1] + ' ' * {} + '}}\\n')"
    rules = RULES.model_copy(update={"line_bytes": 4096})
    for padding, termination in ((3500, Termination.COMPLETED), (5000, Termination.OUTPUT_LIMIT)):
        outcome = play(misbehaving("long", body.format(padding)), rules=rules, games=2)[1]["long"][1]
        assert outcome.termination is termination
    assert BlackjackRules(line_bytes=65536).model_dump(exclude_defaults=True) == {}
    assert RULES.means == {"walls"}


def test_a_request_that_nobody_reads_and_a_line_without_end() -> None:
    for text, termination in (("sleep 60", Termination.TIMEOUT), ("cat /dev/zero", Termination.OUTPUT_LIMIT)):
        with BotProcess(Bot("b", command=text), Limits()) as process:
            channel = LineChannel(process)
            request = b"x" * 300_000 + b"\n" if termination is Termination.TIMEOUT else b"x\n"
            started = time.monotonic()
            assert channel.exchange(request, 0.5) is termination
            assert time.monotonic() - started < 0.7
            assert len(channel.unread) <= 1 << 18


def test_a_command_that_ends_takes_its_children_along() -> None:
    flat = command("left", "setsid sleep 4711 & (setsid sh -c 'sleep 4711 & sleep 4711' &) ; sleep 60")
    assert play(flat, rules=BlackjackRules(startup_ms=0, reply_ms=400))[1]["left"][1].termination
    assert not running("4711")


ESCAPES = {
    "setsid": "setsid sleep {0} & setsid sh -c 'setsid sleep {0} & sleep {0}' & sleep {0}",
    "ignores signals": "trap '' TERM HUP INT; setsid nohup sleep {0} & while :; do sleep {0}; done",
    "double fork": f"""{sys.executable} -c "
import os, time
if os.fork(): time.sleep({{0}})
os.setsid()
if os.fork(): os._exit(0)
time.sleep({{0}})"; sleep {{0}}""",
    "never twice the same": f"""{sys.executable} -c "
import os
while True:
    if os.fork(): os._exit(0)
    os.setsid() # {{0}}"; sleep {{0}}""",
    "stops its keeper": "kill -STOP $PPID; sleep {0}",
    "shuts its folder": "mkdir -p a/b; touch a/b/c; chmod 0 a/b a; sleep {0}",
}
WALLS: tuple[Walls, ...] = ("process", "namespace")


def offered(walls: Walls) -> bool:
    try:
        check_walls(walls)
    except ToolError:
        return False
    return True


@pytest.mark.parametrize("walls", WALLS)
@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_gets_away(name: str, walls: Walls) -> None:
    if not offered(walls):
        pytest.skip("no namespaces here")
    mark = f"{4000 + sorted(ESCAPES).index(name)}.{os.getpid()}"
    with BotProcess(Bot("b", command=ESCAPES[name].format(mark)), Limits(walls=walls)) as process:
        deadline = time.monotonic() + 5
        while not running(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.wait(0.3) is None
    assert not running(mark)
    assert not process.folder.exists()


@pytest.mark.parametrize("walls", WALLS)
def test_what_a_killed_worker_leaves(walls: Walls, tmp_path: Path) -> None:
    if not offered(walls):
        pytest.skip("no namespaces here")
    mark = f"4800.{os.getpid()}"
    script = (
        "import os, signal\nfrom simfarm.core.model import Bot\nfrom simfarm.core.process import BotProcess, Limits\n"
        f"bot = BotProcess(Bot('b', command=\"trap '' TERM; setsid sleep {mark} & echo here; sleep {mark}\"), "
        f"Limits(walls='{walls}'))\nos.read(bot.stdout, 9)\nprint(bot.folder, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder = Path(done.stdout.strip())
    deadline = time.monotonic() + 5
    while (running(mark) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not running(mark)
    assert not folder.exists()


def test_folders_that_nobody_has_are_swept(tmp_path: Path) -> None:
    kept, old, young = (tmp_path / f"simfarm-bot-{name}" for name in ("kept", "old", "young"))
    for folder in (kept, old, young):
        (folder / "a").mkdir(parents=True)
    for folder in (kept, old):
        os.utime(folder, (1, 1))
    lock = processes._locked(kept)
    processes._sweep(tmp_path)
    os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["simfarm-bot-kept", "simfarm-bot-young"]


def test_walls_by_namespace() -> None:
    if not offered("namespace"):
        pytest.skip("no namespaces here")
    text = (
        "touch mine && echo mine; touch /tmp/not-mine /var/tmp/not-mine 2>&-; ls /proc | grep -c '^[0-9]'; "
        "grep -c : /proc/net/dev; test -w /proc/sys/kernel/hostname && echo writable; echo end"
    )
    with BotProcess(Bot("b", command=text), Limits(walls="namespace")) as process:
        assert process.wait(5) == 0
        mine, count, devices, *rest = os.read(process.stdout, 1000).decode().split()
    assert mine == "mine"
    assert int(count) <= 5
    assert int(devices) == 1
    assert rest == ["end"]
    assert not Path("/tmp/not-mine").exists()
    assert not Path("/var/tmp/not-mine").exists()


def test_an_end_by_the_walls_cannot_be_feigned() -> None:
    """A bot that ends by a signal of the keeper's own is at fault like any other, not the machine."""
    for number in (signal.SIGRTMAX, signal.SIGRTMAX - 1):
        with BotProcess(Bot("b", command=f"kill -{number:d} $$"), Limits()) as process:
            code = process.wait(5)
            assert code == 128 + number
            assert process.fault(code, b"", spoke=True)[0] is Termination.CRASHED


@pytest.mark.slow
def test_many_spawns_leave_nothing() -> None:
    def left() -> tuple[int, list[str], int]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(os.listdir("/proc/self/fd")), children, running(mark)

    mark = f"4900.{os.getpid()}"
    text = f"setsid sleep {mark} & read line; echo $line"
    with BotProcess(Bot("b", command="true"), Limits()):
        pass
    before = left()
    for _ in range(int(os.environ.get("SIMFARM_SPAWNS", "400"))):
        with BotProcess(Bot("b", command=text), Limits()) as process:
            os.write(process.stdin, b"hello\n")
            assert os.read(process.stdout, 10) == b"hello\n"
    assert left() == before


def running(mark: str) -> int:
    """Processes that live and have this in their command line."""
    found = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rsplit(")", 1)[1].split()[0]
            found += (
                state != "Z" and mark.encode() in (path / "cmdline").read_bytes() and int(path.name) != os.getpid()
            )
        except OSError:
            continue
    return found
