"""The kinds of charts, as Vega-Lite: small ones, legible at a phone's width, two beside each other on a desk.

Data come ready, a few hundred values at most; nothing is computed here. Colours are those of
:data:`simfarm.report.figure.INKS`, so that a page can put others in their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from simfarm.report.figure import INKS, Spec

_WIDTH = 230
_HEIGHT = 190
_ROW = 24
_CELL = 46
_LONG = 10_000
_PADDING = {"left": 18, "right": 14, "bottom": 4}
"""Room for a browser whose letters are wider than those that the layout was made with."""
_BY_NAME = {name: colour for colour, name in INKS.items()}
_INK, _FAINT, _LINE = _BY_NAME["ink"], _BY_NAME["faint"], _BY_NAME["line"]
_MAIN = _BY_NAME["c1"]
_GOOD, _BAD = _BY_NAME["c1"], _BY_NAME["c2"]
SERIES = tuple(_BY_NAME[f"c{number}"] for number in range(1, 9))
"""Colours of lines and parts that are told apart; as many can be shown in one chart."""

_DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3], [10, 4], [6, 2, 1, 2])


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its reach, in a row of its own."""

    row: str
    value: float
    low: float | None
    """None: no reach is known."""
    high: float | None
    outer: tuple[float, float] | None = None
    """A wider reach, drawn thinner."""

    @classmethod
    def around(cls, row: str, value: float, error: float | None, times: float = 1) -> "Interval":
        """An interval of so many standard errors to each side."""
        if error is None:
            return cls(row, value, None, None)
        return cls(row, value, value - times * error, value + times * error)


@dataclass(frozen=True, slots=True)
class Point:
    """A place on a line."""

    line: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram, or a part of one that is stacked."""

    row: str
    low: float
    high: float
    height: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a matrix."""

    row: str
    column: str
    value: float
    text: str
    """As it is printed."""


def intervals(
    rows: Sequence[Interval],
    axis: str,
    *,
    rules: Sequence[float] = (),
    band: float | None = None,
    log: bool = False,
) -> Spec:
    """Dots with error bars, one row each, in the order given.

    Args:
        rows: what is shown.
        axis: title of the value axis.
        rules: values that are marked by lines.
        band: half the width of a band around 0 that is shaded.
        log: whether the axis is logarithmic; every value must then be above 0.
    """
    order = [row.row for row in rows]
    values = [
        {
            "row": row.row,
            "value": row.value,
            "low": row.low,
            "high": row.high,
            "least": row.outer[0] if row.outer else None,
            "most": row.outer[1] if row.outer else None,
        }
        for row in rows
    ]
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False, padding=6)
    y = alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelOverlap=False))
    x = alt.X("value:Q", title=axis, scale=scale, axis=_axis([row.value for row in rows], log))
    base = _chart(values)
    layers: list[alt.Chart] = []
    if band is not None:
        layers.append(
            _chart([{"low": -band, "high": band}])
            .mark_rect(color=_FAINT, opacity=0.18, aria=False)
            .encode(x=alt.X("low:Q", title=axis), x2="high:Q")
        )
    if rules:
        level = _chart([{"at": rule} for rule in rules])
        layers.append(
            level.mark_rule(color=_FAINT, strokeDash=[4, 3], aria=False).encode(x=alt.X("at:Q", title=axis))
        )
    if any(row.outer is not None for row in rows):
        thin = base.mark_rule(color=_MAIN, strokeWidth=1).encode(y=y, x=alt.X("least:Q", title=axis), x2="most:Q")
        layers.append(thin.transform_filter("isValid(datum.least)"))
    bars = base.mark_rule(color=_MAIN, strokeWidth=3, opacity=0.55).encode(
        y=y, x=alt.X("low:Q", title=axis), x2="high:Q"
    )
    layers.append(bars.transform_filter("isValid(datum.low)"))
    layers.append(base.mark_circle(color=_MAIN, size=70, opacity=1).encode(y=y, x=x))
    return _finished(alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(_ROW)))


def lines(
    points: Sequence[Point],
    axes: tuple[str, str],
    *,
    log: tuple[bool, bool] = (False, False),
    domain: tuple[float, float] | None = None,
    rules: Sequence[float] = (),
    band: float | None = None,
    marks: Sequence[Point] = (),
    ticks: bool = False,
) -> Spec:
    """Lines over a common axis, with a band each where points have one.

    Args:
        points: at most as many lines as :data:`SERIES`.
        axes: titles of the x and the y axis.
        log: whether they are logarithmic.
        domain: the part of the y axis that is shown; what reaches beyond is cut off.
        rules: values of y that are marked by lines.
        band: half the width of a band around y = 0 that is shaded.
        marks: places that are marked.
        ticks: whether x has whole numbers only, so that each has a tick.
    """
    names = list(dict.fromkeys(point.line for point in points))
    values = [
        {"line": point.line, "x": point.x, "y": point.y, "low": point.low, "high": point.high} for point in points
    ]
    at = sorted({point.x for point in points})
    axis = alt.Axis(values=at, format="d", grid=False) if ticks else _short(grid=False)
    x = alt.X("x:Q", title=axes[0], axis=axis, scale=alt.Scale(type="log" if log[0] else "linear", nice=not ticks))
    if domain is not None:
        y_scale = alt.Scale(domain=list(domain), nice=False)
    else:
        y_scale = alt.Scale(type="log") if log[1] else alt.Scale(zero=False)
    y_axis = _axis([point.y for point in points], log[1])
    color = alt.Color(
        "line:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=_legend(names)
    )
    layers: list[alt.Chart] = []
    if band is not None:
        layers.append(
            _chart([{"low": -band, "high": band}])
            .mark_rect(color=_FAINT, opacity=0.18, clip=True, aria=False)
            .encode(y=alt.Y("low:Q", title=axes[1]), y2="high:Q")
        )
    if rules:
        level = _chart([{"at": rule} for rule in rules])
        layers.append(
            level.mark_rule(color=_FAINT, strokeDash=[4, 3], clip=True, aria=False).encode(
                y=alt.Y("at:Q", title=axes[1])
            )
        )
    base = _chart(values)
    if any(point.low is not None for point in points):
        layers.append(
            base.mark_area(opacity=0.18, clip=True)
            .transform_filter("isValid(datum.low)")
            .encode(x=x, y=alt.Y("low:Q", title=axes[1], scale=y_scale, axis=y_axis), y2="high:Q", color=color)
        )
    y = alt.Y("y:Q", title=axes[1], scale=y_scale, axis=y_axis)
    dash = alt.StrokeDash("line:N", scale=alt.Scale(domain=names, range=list(_DASHES[: len(names)])), legend=None)
    layers.append(base.mark_line(clip=True, strokeWidth=2).encode(x=x, y=y, color=color, strokeDash=dash))
    if marks:
        places = _chart([{"line": mark.line, "x": mark.x, "y": mark.y} for mark in marks])
        layers.append(places.mark_point(size=90, strokeWidth=2, clip=True).encode(x=x, y=y, color=color))
    if ticks:
        layers.append(base.mark_circle(size=36, opacity=1).encode(x=x, y=y, color=color))
    return _finished(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def histograms(bars: Sequence[Bar], axis: str) -> Spec:
    """One small histogram below the other on a common axis; heights are percent."""
    order = list(dict.fromkeys(bar.row for bar in bars))
    values = [{"row": b.row, "low": b.low, "high": b.high, "height": b.height} for b in bars if b.height > 0]
    one = len(order) == 1
    whole = all(b.high - b.low >= 1 for b in bars)
    steps = max(b.high for b in bars) - min(b.low for b in bars) if whole else 5
    chart = (
        _chart(values)
        .mark_bar(color=_MAIN, binSpacing=0.5)
        .encode(
            x=alt.X("low:Q", bin="binned", title=axis, axis=_short(grid=False, most=steps)),
            x2="high:Q",
            y=alt.Y("height:Q", title="%", axis=alt.Axis(tickCount=4 if one else 2)),
        )
        .properties(width=_WIDTH, height=_HEIGHT if one else 58)
    )
    if one:
        return _finished(chart)
    head = alt.Header(title=None, labelOrient="top", labelAnchor="start", labelPadding=2, labelLimit=_WIDTH)
    return _finished(chart.facet(row=alt.Row("row:N", sort=order, header=head), spacing=8))


def bars(rows: Sequence[tuple[str, float]], axis: str, top: float | None = None) -> Spec:
    """Bars from 0, one row each.

    Args:
        rows: names and values.
        axis: title of the value axis.
        top: where the axis ends, if not at the largest value.
    """
    if top is None:
        x = alt.X("value:Q", title=axis, axis=_short())
    else:
        ticks = [top * part / 4 for part in range(5)]
        x = alt.X("value:Q", title=axis, axis=alt.Axis(values=ticks), scale=alt.Scale(domain=[0, top]))
    chart = (
        _chart([{"row": row, "value": value} for row, value in rows])
        .mark_bar(color=_MAIN, height={"band": 0.6})
        .encode(
            y=alt.Y("row:N", sort=[row for row, _ in rows], title=None),
            x=x,
        )
        .properties(width=_WIDTH, height=alt.Step(_ROW))
    )
    return _finished(chart)


def stacked(parts: Mapping[str, Mapping[str, float]], axis: str) -> Spec:
    """Bars of parts, one row each; as many kinds of parts as :data:`SERIES`."""
    kinds = list(dict.fromkeys(kind for row in parts.values() for kind in row))
    longest = max(sum(row.values()) for row in parts.values())
    values = [
        {"row": row, "kind": kind, "count": count}
        for row, kinds_ in parts.items()
        for kind, count in kinds_.items()
    ]
    chart = (
        _chart(values)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y("row:N", sort=list(parts), title=None),
            x=alt.X("count:Q", title=axis, axis=_short(most=longest)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])),
                legend=_legend(kinds, least=1),
            ),
        )
        .properties(width=_WIDTH, height=alt.Step(_ROW))
    )
    return _finished(chart)


def matrix(cells: Sequence[Cell], columns: Sequence[str], title: str, middle: float) -> Spec:
    """A heat map: each cell shows its text, its colour says on which side of the middle it lies, the depth of the
    colour how far.

    Args:
        cells: in the order of rows.
        columns: their order.
        title: of the columns.
        middle: the value that is neither above nor below.
    """
    rows = list(dict.fromkeys(cell.row for cell in cells))
    reach = max((abs(cell.value - middle) for cell in cells), default=0) or 1
    values = [
        {
            "row": cell.row,
            "column": cell.column,
            "text": cell.text,
            "side": "above" if cell.value >= middle else "below",
            "depth": 0.08 + 0.62 * abs(cell.value - middle) / reach,
        }
        for cell in cells
    ]
    angle = -45 if max(map(len, columns), default=0) > 5 else 0
    y = alt.Y("row:N", sort=rows, title=None)
    x = alt.X(
        "column:N",
        sort=list(columns),
        title=title or None,
        axis=alt.Axis(orient="top", labelAngle=angle, labelOverlap=False, titlePadding=16),
    )
    base = _chart(values)
    boxes = base.mark_rect(stroke=_LINE).encode(
        x=x,
        y=y,
        color=alt.Color("side:N", scale=alt.Scale(domain=["above", "below"], range=[_GOOD, _BAD]), legend=None),
        opacity=alt.Opacity("depth:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
        description="text:N",
    )
    size = max(_CELL, 7 * max((len(cell.text) for cell in cells), default=0) + 6)
    texts = base.mark_text(color=_INK, fontSize=11, aria=False).encode(x=x, y=y, text="text:N")
    return _finished(alt.layer(boxes, texts).properties(width=alt.Step(size), height=alt.Step(30)), top=18)


def _chart(values: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=values))


def _axis(values: Sequence[float], log: bool) -> alt.Axis:
    """Few ticks; thousands as 150k."""
    long = max(map(abs, values), default=0) >= _LONG
    if log:  # its own formats leave out what lies between the powers of ten
        return alt.Axis(tickCount=5, format="~s" if long else "~g")
    return _short() if long else alt.Axis(tickCount=5)


def _short(*, grid: bool = True, most: float = 5) -> alt.Axis:
    """Few ticks with thousands as 150k: each in its own unit, so that 0 is 0 and not 0M.

    Args:
        grid: whether they are drawn through.
        most: steps at most; as many as there are whole numbers, where nothing lies between them.
    """
    return alt.Axis(labelExpr="format(datum.value, '~s')", grid=grid, tickCount=max(1, min(5, int(most))))


def _legend(names: Sequence[str], least: int = 2) -> alt.Legend | None:
    if len(names) < least:
        return None
    longest = max(map(len, names))
    columns = max(1, min(3, 30 // (longest + 4)))
    orient: Literal["top"] = "top"
    return alt.Legend(title=None, orient=orient, columns=columns, labelLimit=_WIDTH, columnPadding=26)


def _finished(chart: alt.LayerChart | alt.Chart | alt.FacetChart, top: int = 4) -> Spec:
    axis = alt.AxisConfig(
        labelColor=_INK,
        titleColor=_FAINT,
        titleFontWeight="normal",
        titlePadding=8,
        gridColor=_LINE,
        domainColor=_FAINT,
        tickColor=_FAINT,
        labelFontSize=12,
        titleFontSize=12,
        labelLimit=110,
        labelOverlap="greedy",
        labelSeparation=8,
    )
    done = chart.configure(
        font="Arial, Helvetica, sans-serif", background="white", padding={**_PADDING, "top": top}, axis=axis
    )
    done = done.configure_legend(
        labelColor=_INK, labelFontSize=12, symbolOpacity=1, symbolType="circle", symbolStrokeWidth=0
    )
    done = done.configure_header(labelColor=_INK, labelFontSize=12).configure_view(stroke=None)
    spec: dict[str, Any] = done.to_dict(validate=False)
    return spec
