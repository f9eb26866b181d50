"""A chart with its words and its numbers, and its forms: SVG for a page, SVG and PNG files.

The libraries come with ``simfarm[report]`` and are imported when a chart is drawn.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from simfarm.core.errors import StoreError, ToolError
from simfarm.report.render import Table

Spec = Mapping[str, Any]
"""A chart in Vega-Lite's language."""

INKS = {
    "#1b1f24": "ink",
    "#59636e": "faint",
    "#d5dae0": "line",
    "#2a78b8": "c1",
    "#c2571a": "c2",
    "#2b8a3e": "c3",
    "#a23b8f": "c4",
    "#8a6d00": "c5",
    "#0b7f84": "c6",
    "#c92a2a": "c7",
    "#6b6f76": "c8",
}
"""The colours of charts, as they are on white, and the page's variable that stands for each in a page, where it has
another value in dark mode."""

_SVG = "http://www.w3.org/2000/svg"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_PNG_SCALE = 2


class ChartFormat(StrEnum):
    """How chart files are written."""

    SVG = "svg"
    PNG = "png"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, and the same in words and numbers for those who do not see it."""

    name: str
    """Letters, digits and dashes; unique among the figures of a page: its file is called so."""
    title: str
    text: str
    """What it shows, in a sentence or two."""
    spec: Spec
    table: Table
    """The numbers that are drawn."""

    def svg(self) -> str:
        """The chart as an SVG file.

        Raises:
            ToolError: the libraries are not installed.
        """
        return str(_converter().vegalite_to_svg(dict(self.spec)))

    def inline(self) -> str:
        """The chart as an SVG element of a page: colours by the page's variables, no script, a title on each mark
        that a mouse finds, and one label for those who hear it.

        Raises:
            ToolError: the libraries are not installed.
        """
        # what is parsed and written again is well-formed, whatever a bot calls itself
        root = ElementTree.fromstring(self.svg())
        for element in root.iter():
            label = element.get("aria-label")
            if label is not None and element.get("role") == "graphics-symbol" and len(element) == 0:
                ElementTree.SubElement(element, f"{{{_SVG}}}title").text = label
            for name in list(element.attrib):
                if name.startswith("aria-") or name == "role":
                    del element.attrib[name]
            for name in ("fill", "stroke"):
                ink = INKS.get(element.get(name, ""))
                if ink is not None:
                    element.set(name, f"var(--{ink})")
            if "id" in element.attrib:
                element.set("id", f"{self.name}-{element.attrib['id']}")
            for name, value in element.attrib.items():
                if "url(#" in value:
                    element.set(name, _REFERENCE.sub(rf"url(#{self.name}-\1)", value))
        background = root.find(f"{{{_SVG}}}rect")
        if background is not None:
            root.remove(background)
        width = root.attrib.pop("width")
        del root.attrib["height"], root.attrib["class"]
        root.set("role", "img")
        root.set("aria-label", f"{self.title}. {self.text}")
        root.set("style", f"max-width:{float(width) * 1.3:.0f}px;min-width:{float(width) * 0.85:.0f}px")
        ElementTree.register_namespace("", _SVG)
        return ElementTree.tostring(root, encoding="unicode")


def write_charts(figures: Iterable[Figure], folder: Path, format: ChartFormat) -> list[Path]:
    """Write every figure as a file of its name.

    Raises:
        StoreError: the folder cannot be written.
        ToolError: the libraries are not installed.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            path = folder / f"{figure.name}.{format}"
            if format is ChartFormat.SVG:
                path.write_text(figure.svg(), encoding="utf-8")
            else:
                path.write_bytes(_converter().vegalite_to_png(dict(figure.spec), scale=_PNG_SCALE))
            paths.append(path)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None
    return paths


def need_libraries() -> None:
    """Make sure that pages and charts can be made here.

    Raises:
        ToolError: the libraries are not installed.
    """
    try:
        import altair  # noqa: F401
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ToolError(f"pages and charts need the package {error.name}: pip install 'simfarm[report]'") from None


def _converter() -> Any:
    need_libraries()
    import vl_convert

    return vl_convert
