"""A page as one HTML file: it needs nothing else, no network and no script, so that it opens from a mail as well."""

from functools import cache
from pathlib import Path
from typing import Any

from simfarm.core.errors import StoreError
from simfarm.report.figure import INKS, need_libraries
from simfarm.report.page import Page

_TEMPLATES = Path(__file__).parent / "templates"


def html(page: Page) -> str:
    """The page as HTML. Every text in it is escaped, and its own rules keep a browser from running or loading
    anything.

    Raises:
        ToolError: the libraries of ``simfarm[report]`` are not installed.
    """
    need_libraries()
    text: str = _template().render(page=page, inks=INKS)
    return text


def write_html(page: Page, path: Path) -> None:
    """Write a page.

    Raises:
        StoreError: the file cannot be written.
        ToolError: as :func:`html`.
    """
    text = html(page)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("page.html")
