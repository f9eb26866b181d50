"""Calibration and power: that the checks count rightly, see what is wrong, and hold on real rows."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from simfarm.calibrate import populations
from simfarm.cli.main import app
from simfarm.executors.local import LocalExecutor
from simfarm.stats import calibration
from simfarm.stats.calibration import Check, Population, checks
from simfarm.stats.margin import Rule
from simfarm.stats.power import fixed_games, need


def test_binomial_intervals_are_the_exact_ones() -> None:
    # from tables: 3 of 10 and 0 of 20 at 95 %
    low, high = Check("g", "", 0.0, 3, 10).interval()
    assert (low, high) == (pytest.approx(0.0667, abs=1e-4), pytest.approx(0.6525, abs=1e-4))
    low, high = Check("g", "", 0.0, 0, 20).interval()
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert Check("g", "", 0.0, 20, 20).interval()[1] == 1.0


def normal(equal: bool, sd: float = 50.0) -> Population:
    rng = np.random.default_rng(6)
    return Population("normal", rng.normal(0 if equal else 3, sd, 20_000), np.ones(20_000), equal)


def test_all_rates_hold_for_normal_scores() -> None:
    found = [*checks(normal(True), 1500, 1), *checks(normal(False), 1500, 1)]
    assert len(found) == 7
    assert all(check.holds for check in found), [(check.what, check.rate, check.stated) for check in found]
    predicted = [check for check in found if check.slack is not None]
    assert [0.05 < check.stated < 0.95 for check in predicted] == [True, True]


def test_a_rule_that_errs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A boundary of 2 sigma at every look is what whoever stops early without one uses."""
    monkeypatch.setattr(
        "simfarm.stats.boundary.Boundary.reach", lambda self, n: 4.0 * np.ones_like(np.asarray(n, float))
    )
    wrong = [check for check in checks(normal(True), 500, 1) if not check.holds]
    assert ["sequential" in check.what for check in wrong] == [True]


def test_power_is_that_of_the_rule() -> None:
    rule = Rule(tie=0.05, sigmas=3.0)
    games = fixed_games(0.2, 80.0, rule, 0.9)
    assert games is not None
    sigma = 80.0 / math.sqrt(games)
    values = np.random.default_rng(2).normal(0.2, sigma, 40_000)
    assert np.mean((values >= 3 * sigma) & (values > 0.05)) == pytest.approx(0.9, abs=0.01)
    # just outside the tie band it is the band that asks for more
    near = fixed_games(0.051, 80.0, rule, 0.9)
    assert near is not None
    assert np.mean(np.random.default_rng(3).normal(0.051, 80.0 / math.sqrt(near), 40_000) > 0.05) == pytest.approx(
        0.9, abs=0.01
    )
    assert fixed_games(0.0, 80.0, rule, 0.9) is None


def test_a_fifth_of_a_point_needs_less_than_a_third_of_twenty_million_games() -> None:
    """The README's sigma of a margin, 0.0180 pp at 20,000,000 games of UNO; bounds are 4 standard errors."""
    rule, games = Rule(), 20_000_000
    sd = 0.0180 * math.sqrt(games)
    found = need(0.2, sd, rule, rule.alpha, games, 0.9, 300, 1)
    assert found.mean + 4 * found.mean_error < games / 3
    assert found.right == 1.0
    nothing = need(0.0, sd, rule, rule.alpha, games, 0.9, 2000, 1)
    assert nothing.wrong <= 0.0027 + 4 * math.sqrt(0.0027 / 2000)
    assert nothing.right == 0.0


def test_rates_hold_on_rows_of_real_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "MOST_PER_ROUND", 30)
    equal, unequal = populations("uno", 3, LocalExecutor(1))
    assert (equal.equal, unequal.equal) == (True, False)
    assert len(equal.y) == len(unequal.y) == 240_000
    # two copies of one bot: what they score differs by chance alone, and the true margin is 0
    assert abs(equal.y.sum()) < 4 * math.sqrt((equal.y**2).sum())
    assert equal.margin == 0.0
    assert unequal.margin == pytest.approx(unequal.y.sum() / unequal.t.sum())
    for check in (*checks(equal, 200, 1), *checks(unequal, 200, 1)):
        assert check.holds, (check.what, check.rate, check.stated)


def test_the_command_says_which_games_have_nothing_to_calibrate() -> None:
    result = CliRunner().invoke(app, ["calibrate", "poker_run", "--tournaments", "100"])
    assert "two copies of a bot of poker_run do the same in every block" in str(result.exception)
    assert json.dumps("duel") in json.dumps(str(result.exception).split("allowed: ")[1].split(", "))
