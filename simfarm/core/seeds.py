"""Seeds: one function, the same in Python, C (``native/seeds.h``) and JavaScript (``native/seeds.mjs``).

Every random choice of a run comes from ``derive(seed, ...)`` over things that identify the choice (a matchup,
a block, a seat) and never from the worker, the shard or the order of arrival.
"""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(value: int) -> int:
    """The finaliser of splitmix64: a bijection on 64 bits; every input bit reaches every output bit."""
    value &= _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def fold(text: str) -> int:
    """64-bit FNV-1a of the text's UTF-8 bytes: how a name takes part in a seed."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def derive(seed: int, *key: int | str) -> int:
    """A 64-bit seed for the thing that ``key`` names under ``seed``.

    Args:
        seed: any integer; its low 64 bits count.
        key: integers (low 64 bits count) and texts (folded by :func:`fold`), in order.
    """
    value = mix(seed + _GOLDEN)
    for part in key:
        number = fold(part) if isinstance(part, str) else part
        value = mix((value ^ mix(number + _GOLDEN)) + _GOLDEN)
    return value
