"""Distributions are counted right, and charts are safe inside a page."""

from collections import Counter
from xml.etree import ElementTree

import numpy as np
import polars as pl

from simfarm.core.figures import Histogram
from simfarm.report import charts
from simfarm.report.charts import Bar, Cell, Interval, Point
from simfarm.report.distributions import distributions
from simfarm.report.figure import INKS, Figure
from simfarm.report.page import numbers

HOSTILE = "<script>alert(1)</script>&\"'"


def figure(name: str, spec: object) -> Figure:
    """A figure with a chart."""
    return Figure(name, HOSTILE, HOSTILE, spec, numbers(("bot",), [("x",)]))  # type: ignore[arg-type]


def test_distributions_are_those_of_a_plain_count() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.integers(0, 100, 500), rng.integers(50, 300, 500)
    bots = rng.integers(0, 3, (500, 2))
    names = ["a", "b", "c"]
    rows = pl.LazyFrame(
        {
            "x0": pl.Series(first, dtype=pl.UInt16),
            "x1": pl.Series(second, dtype=pl.UInt16),
            "bot0": [names[bot] for bot in bots[:, 0]],
            "bot1": [names[bot] if bot else None for bot in bots[:, 1]],
        }
    )
    found = distributions(Histogram("x", "t", (("x0", "bot0"), ("x1", "bot1")), "u"), rows, ["c", "a", "b", "d"])
    assert [distribution.bot for distribution in found] == ["c", "a", "b"]
    for distribution in found:
        number = names.index(distribution.bot or "")
        values = sorted([*first[bots[:, 0] == number], *(second[bots[:, 1] == number] if number else [])])
        assert distribution.rows == len(values)
        low, _, median, _, high = distribution.quantiles
        assert (low, high) == (values[0], values[-1])
        assert values[len(values) // 2 - 1] <= median <= values[len(values) // 2]
        assert len(distribution.bins) <= 32
        for part in distribution.bins:
            inside = sum(part.low <= value < part.high for value in values)
            assert abs(part.share - 100 * inside / len(values)) < 1e-9
        assert abs(sum(part.share for part in distribution.bins) - 100) < 1e-9


def test_whole_numbers_stand_in_the_middle_of_their_bars() -> None:
    values = [2, 3, 3, 8]
    (found,) = distributions(Histogram("x", "t", (("x", None),), "u"), pl.LazyFrame({"x": values}), [])
    middles = {(part.low + part.high) / 2: round(part.share * 4 / 100) for part in found.bins if part.share}
    assert middles == Counter(values)


def test_constants_infinities_and_nothing() -> None:
    histogram = Histogram("x", "t", (("x", None),), "u")
    (found,) = distributions(histogram, pl.LazyFrame({"x": [0.25, 0.25, float("nan"), None]}), [])
    assert found.rows == 2
    assert found.quantiles == (0.25,) * 5
    assert sum(part.share for part in found.bins) == 100
    assert distributions(histogram, pl.LazyFrame({"x": []}, schema={"x": pl.Float64}), []) == ()


def test_every_kind_of_chart_is_drawn_and_safe() -> None:
    specs = {
        "intervals": charts.intervals(
            [Interval(HOSTILE, 1.0, 0.5, 2.0, (0.1, 3.0))], HOSTILE, rules=(1,), band=0.5
        ),
        "log": charts.intervals([Interval("a", 1.0, None, None), Interval("b", 1e5, None, None)], "s", log=True),
        "lines": charts.lines(
            [Point(HOSTILE, 1, 2, 1, 3), Point(HOSTILE, 2, 3, 2, 4), Point("b", 1, 1), Point("b", 2, 2)],
            ("x", "y"),
            domain=(0, 4),
            rules=(0,),
            band=0.1,
            marks=[Point("b", 2, 2)],
        ),
        "histograms": charts.histograms([Bar(HOSTILE, 0, 1, 40), Bar("b", 1, 2, 100)], "x"),
        "bars": charts.bars([(HOSTILE, 3.0)], "x"),
        "stacked": charts.stacked({HOSTILE: {"completed": 3, HOSTILE: 1}}, "rows"),
        "matrix": charts.matrix([Cell(HOSTILE, "b", 1, "1"), Cell("b", HOSTILE, -1, "-1")], [HOSTILE, "b"], "", 0),
    }
    ids: list[str] = []
    for name, spec in specs.items():
        inline = figure(name, spec).inline()
        assert "<script" not in inline, name
        root = ElementTree.fromstring(inline)
        assert root.get("role") == "img"
        assert root.get("aria-label") == f"{HOSTILE}. {HOSTILE}"
        elements = list(root.iter())
        assert any(element.tag.endswith("title") for element in elements), name
        colours = {element.get(key, "") for element in elements for key in ("fill", "stroke")}
        assert not colours & set(INKS), name
        assert any(colour.startswith("var(--") for colour in colours), name
        ids += [element.attrib["id"] for element in elements if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert any(identity.startswith("lines-") for identity in ids)


def test_a_file_has_its_colours_itself() -> None:
    text = figure("bars", charts.bars([("a", 3.0)], "x")).svg()
    assert "var(" not in text
    assert any(colour in text for colour in INKS)
