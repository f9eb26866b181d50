"""What a row keeps of a bot's fault: the last request, the last reply, and the end of standard error.

Every engine whose rows name a bot at fault has the columns :data:`EVIDENCE` beside ``termination`` and ``detail``, in
the table of its :class:`~simfarm.core.model.Fault`; they are null where nobody is at fault.
"""

from dataclasses import dataclass

import pyarrow as pa

from simfarm.core.model import Column

EXCERPT_BYTES = 400
"""Bytes that are kept of a request and of a reply."""
STDERR_BYTES = 2000
"""Bytes that are kept of standard error: the last ones."""

EVIDENCE = (
    Column("last_request", pa.string(), "of a fault: the end of what the bot was asked last, null if nothing"),
    Column("last_reply", pa.string(), "of a fault: the start of what the bot said last, null if nothing"),
    Column("stderr", pa.string(), "of a fault: the end of the bot's standard error"),
)
"""The columns, in this order, behind ``detail``."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The values of the columns :data:`EVIDENCE`: short texts that are safe to print."""

    last_request: str | None = None
    """The end of the last request; None: nothing was asked, or nobody is at fault."""
    last_reply: str | None = None
    """The start of the last reply, or of what had come of it; None: nothing came, or nobody is at fault."""
    stderr: str | None = None
    """The end of standard error; None: nobody is at fault."""

    @classmethod
    def of(cls, request: bytes | None, reply: bytes | None, stderr: bytes) -> "Evidence":
        """The evidence of a fault, cut to size.

        Args:
            request: the last request as it was sent; None if nothing was.
            reply: the last reply, or what had come of it; None if nothing came.
            stderr: standard error, or its end.
        """
        return cls(
            None if request is None else printable(request.rstrip()[-EXCERPT_BYTES:]),
            None if reply is None else printable(reply[:EXCERPT_BYTES]),
            printable(stderr[-STDERR_BYTES:]),
        )


NO_EVIDENCE = Evidence()
"""Of a row in which nobody is at fault."""


def printable(data: bytes) -> str:
    """Bytes from a bot as text that does nothing to a terminal: what is no UTF-8 and what is no printable character
    is escaped as in Python, line ends and tabs apart."""
    text = data.decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )
