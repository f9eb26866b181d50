"""Reports against a second computation, from nothing but rows: plain Python and numpy, no part of simfarm.stats."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfarm import registry
from simfarm import run as runs
from simfarm.config import Verdict, build_config
from simfarm.executors.local import LocalExecutor
from simfarm.report.elimination import elimination
from simfarm.report.leaderboard import leaderboard
from simfarm.report.ratings import ratings
from simfarm.report.significance import significance
from simfarm.store import Run

Row = Mapping[str, Any]


def played(
    folder: Path,
    game: str,
    bots: tuple[str, ...],
    plan: dict[str, Any],
    rules: dict[str, Any] | None = None,
    verdict: Verdict | None = None,
) -> Run:
    bundled = registry.engine(game).bundled()
    specs = [bundled[name] for name in bots]
    config = build_config(game, specs, seed=5, plan=plan, rules=rules, verdict=verdict, where="test")
    run = Run.create(folder / game, config)
    runs.play(run, LocalExecutor(1), lambda progress: None)
    return Run(run.path)


def rows_of(run: Run, table: str) -> list[dict[str, Any]]:
    return run.lazy(table).collect().to_dicts()


def by_name(data: Mapping[str, Any]) -> dict[str, Any]:
    return {bot["name"]: bot for bot in data["bots"]}


def sequence(y: np.ndarray, t: np.ndarray, rounds: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the set of m with M < 1 / alpha at the last two looks, by bisection of log M; no regard to skewness."""
    log = -2 * math.log(alpha)
    c = max(20, rounds / 8) / (log + math.log1p(log))
    ends = np.zeros((2, 2))
    for look, n in enumerate((len(y) - 1, len(y))):

        def inside(m: float, n: int = n) -> bool:
            d = y[:n] - m * t[:n]
            q = d.sum() ** 2 / ((n + c) * (d @ d))
            return 0.5 * math.log(c / (n + c)) - n / 2 * math.log1p(-q) < -math.log(alpha)

        value = y[:n].sum() / t[:n].sum()
        for side, sign in enumerate((-1, 1)):
            near, far = value, value + sign * 10.0
            for _ in range(50):
                middle = (near + far) / 2
                near, far = (middle, far) if inside(middle) else (near, middle)
            ends[side, look] = near
    return ends[0], ends[1]


@pytest.mark.parametrize("deal", ["fresh", "shared"])
def test_uno(tmp_path: Path, deal: str) -> None:
    bots = ("veteran", "sparring_tempo", "sparring_points", "first_legal")
    verdict = Verdict(reference="veteran", method="sequential")
    run = played(tmp_path, "uno", bots, {"games": 4800, "deal": deal}, verdict=verdict)
    rows, report = rows_of(run, "games"), significance(run)
    blocks: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        blocks[row["block"]].append(row)
    points = np.array(
        [[sum(r["points"] for r in blocks[b] if r["winner_bot"] == bot) for bot in bots] for b in sorted(blocks)],
        float,
    )
    n, total = len(points), points.sum()
    found, wins = by_name(report.data), Counter(row["winner_bot"] for row in rows)
    assert report.data["blocks"] == n == (4800 if deal == "fresh" else 200)
    for column, bot in enumerate(bots):
        said, own = found[bot], points[:, column]
        assert (said["points"], said["wins"]) == (own.sum(), wins[bot])
        for key, y in (("share", own), ("margin", own - points[:, 0])):
            if key == "margin" and not column:
                continue
            value = y.sum() / total
            d = y - value * points.sum(axis=1)
            sigma = math.sqrt(n / (n - 1) * float(d @ d)) / total
            names = ("share_percent", "share_error_pp") if key == "share" else ("margin_pp", "sigma_pp")
            assert (said[names[0]], said[names[1]]) == pytest.approx((100 * value, 100 * sigma))
            if key == "margin":
                assert said["z"] == pytest.approx(value / sigma)
    # a row of the Markdown and of the terminal says the same margin
    margin = f"{found['first_legal']['margin_pp']:+.3f}"
    assert f"| {margin} |" in report.markdown()

    state = report.data["sequential"]
    assert state is not None
    rounds = min(2000, n)
    edges = [n * r // rounds for r in range(rounds + 1)]
    summed = np.array([points[a:b].sum(axis=0) for a, b in pairwise(edges)])
    for finding in state["findings"]:
        if finding["verdict"] != "loss":
            continue
        look = edges[1:].index(round(finding["games"] * n / 4800)) + 1
        y = summed[:, bots.index(finding["bot"])] - summed[:, 0]
        low, high = sequence(y[:look], summed[:look].sum(axis=1), rounds, math.erfc(3 / math.sqrt(2)))
        assert 100 * np.array([low[-1], high[-1]]) == pytest.approx([finding["low"], finding["high"]], rel=1e-6)
        assert high[-1] < 0 <= high[-2]
    assert any(finding["verdict"] == "loss" for finding in state["findings"])


def test_ratings(tmp_path: Path) -> None:
    bots = ("veteran", "sparring_tempo", "sparring_points", "first_legal")
    run = played(tmp_path, "uno", bots, {"games": 2400})
    wins = Counter(row["winner_bot"] for row in rows_of(run, "games"))
    # of four with one winner, i is ahead of j as often as it wins: minorise and maximise
    strength = np.ones(4)
    for _ in range(2000):
        meetings = [
            sum((wins[a] + wins[b]) / (strength[i] + strength[j]) for j, b in enumerate(bots) if j != i)
            for i, a in enumerate(bots)
        ]
        strength = np.array([3 * wins[bot] for bot in bots]) / np.array(meetings)
        strength /= np.exp(np.log(strength).mean())
    found = by_name(ratings(run).data)
    assert [found[bot]["rating"] for bot in bots] == pytest.approx(list(400 * np.log10(strength)), abs=1e-6)


def test_blackjack(tmp_path: Path) -> None:
    bots = ("basic_strategy", "drandom", "dflat")
    run = played(tmp_path, "blackjack", bots, {"games": 40, "repeats": 6}, {"start_balance": 200})
    rows, data = rows_of(run, "seats"), elimination(run).data
    balance, ends, against = Counter[str](), defaultdict[str, Counter[str]](Counter), Counter[tuple[str, str]]()
    at = {(row["matchup"], row["block"], row["bot"]): row["balance"] for row in rows}
    for row in rows:
        balance[row["bot"]] += row["balance"]
        ends[row["bot"]][row["termination"]] += 1
        for other in bots:
            if other != row["bot"] and (row["matchup"], row["block"], other) in at:
                against[row["bot"], other] += row["balance"]
    found = by_name(data)
    assert {bot: found[bot]["balance"] for bot in bots} == dict(balance)
    assert {bot: found[bot]["terminations"] for bot in bots} == {bot: dict(ends[bot]) for bot in bots}
    assert {(a, b): value for a, line in data["against"].items() for b, value in line.items()} == dict(against)
    assert set(data["last"]) == {bot for bot in bots if balance[bot] == min(balance.values())}
    lead = data["lead"]
    variance = 0.0
    for key in {row["matchup"] for row in rows}:
        table = [
            {row["bot"]: row["balance"] for row in rows if (row["matchup"], row["block"]) == (key, block)}
            for block in range(6)
        ]
        variance += 6 * float(
            np.var([line.get(lead["next"], 0) - line.get(lead["last"], 0) for line in table], ddof=1)
        )
    assert lead["sigma"] == pytest.approx(math.sqrt(variance))
    assert lead["value"] == balance[lead["next"]] - balance[lead["last"]]


def test_duel(tmp_path: Path) -> None:
    bots = ("odds", "mirror", "sample")
    run = played(tmp_path, "duel", bots, {"games": 24, "block": 4}, {"sets": 1, "coins": 100})
    rows, data = rows_of(run, "games"), leaderboard(run).data
    won = {bot: defaultdict[tuple[str, int], int](int) for bot in bots}
    for row in rows:
        for bot in (row["bot_seat0"], row["bot_seat1"]):
            won[bot][row["matchup"], row["block"]] += row["winner_bot"] == bot
    check(by_name(data["boards"][0]), {bot: dict(blocks) for bot, blocks in won.items()}, "odds")
    beat = Counter(
        (row["winner_bot"], other)
        for row in rows
        for other in (row["bot_seat0"], row["bot_seat1"])
        if row["winner_bot"] is not None and other != row["winner_bot"]
    )
    drawn = Counter(frozenset((row["bot_seat0"], row["bot_seat1"])) for row in rows if row["winner_bot"] is None)
    for a, b in combinations(bots, 2):
        said = ratings(run).data["wins"][a][b]
        assert (said["ahead"], said["compared"]) == (
            beat[a, b] + drawn[frozenset((a, b))] / 2,
            beat[a, b] + beat[b, a] + drawn[frozenset((a, b))],
        )


def test_poker_run(tmp_path: Path) -> None:
    run = played(tmp_path, "poker_run", ("baseline", "planner_quick"), {"seeds": ["1001-1004"]})
    rows, rounds, data = rows_of(run, "runs"), rows_of(run, "rounds"), leaderboard(run).data
    made = Counter[tuple[str, int]]()
    for row in rounds:
        made[row["bot"], row["block"]] += row["points"]
    assert {(row["bot"], row["block"]): row["points"] for row in rows} == dict(made)
    scores: dict[str, dict[Any, float]] = defaultdict(dict)
    for row in rows:
        scores[row["bot"]][row["block"]] = row["points"]
    found = by_name(data["boards"][0])
    check(found, scores, "baseline")
    x, y = (np.array([scores[bot][block] for block in range(1001, 1005)]) for bot in ("planner_quick", "baseline"))
    gain = (np.var(x, ddof=1) + np.var(y, ddof=1)) / np.var(x - y, ddof=1)
    assert found["planner_quick"]["paired"]["gain"] == pytest.approx(gain)


def check(found: dict[str, Any], scores: Mapping[str, Mapping[Any, float]], reference: str) -> None:
    """Means, errors and paired differences of one board."""
    assert set(found) == set(scores)
    for bot, blocks in scores.items():
        values = list(blocks.values())
        assert (found[bot]["blocks"], found[bot]["best"]) == (len(values), max(values))
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        assert (found[bot]["mean"], found[bot]["error"]) == pytest.approx((np.mean(values), error))
        if bot != reference:
            gaps = [x - scores[reference][unit] for unit, x in blocks.items() if unit in scores[reference]]
            paired = found[bot]["paired"]
            assert (paired["difference"], paired["blocks"]) == (pytest.approx(np.mean(gaps)), len(gaps))
            assert paired["error"] == pytest.approx(np.std(gaps, ddof=1) / math.sqrt(len(gaps)))
