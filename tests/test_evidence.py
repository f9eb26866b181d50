"""What is kept of a fault: bounded, and harmless on a terminal."""

import pytest

from simfarm.core.evidence import EVIDENCE, EXCERPT_BYTES, STDERR_BYTES, Evidence, printable


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"two\nlines\tof text", "two\nlines\tof text"),
        ("caf\u00e9".encode(), "caf\u00e9"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"a\0b\r\x1b[2J", "a\\x00b\\r\\x1b[2J"),
        ("\u202egnp.exe\u2028".encode(), "\\u202egnp.exe\\u2028"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_printable(data: bytes, text: str) -> None:
    assert printable(data) == text


def test_evidence_is_short() -> None:
    evidence = Evidence.of(b"a" * 999 + b"end\n", b"start" + b"b" * 999, b"c" * 9999 + b"last")
    assert evidence.last_request is not None
    assert evidence.last_request.endswith("aend")
    assert evidence.last_reply is not None
    assert evidence.last_reply.startswith("startb")
    assert len(evidence.last_request) == len(evidence.last_reply) == EXCERPT_BYTES
    assert evidence.stderr is not None
    assert evidence.stderr.endswith("last")
    assert len(evidence.stderr) == STDERR_BYTES
    assert Evidence.of(None, None, b"") == Evidence(None, None, "")


def test_columns_are_the_fields() -> None:
    assert tuple(column.name for column in EVIDENCE) == Evidence.__slots__
