"""Seeds: golden values, and the same numbers in C and in JavaScript."""

import ctypes
import json
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.duel.node import node_binary
from simfarm.core import native, seeds

NUMBERS = st.integers(0, 2**64 - 1)
HEADER = Path(native.__file__).with_name("native") / "seeds.h"
EXPORTS = b"""
#include "seeds.h"
uint64_t derive1(uint64_t seed, uint64_t part) { return seeds_derive(seed, part); }
uint64_t derive2(uint64_t seed, uint64_t a, uint64_t b) { return seeds_next(seeds_derive(seed, a), b); }
uint32_t below(uint64_t state, uint32_t n) { return seeds_below(&state, n); }
"""


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    sources = {"seeds.h": HEADER.read_bytes(), "exports.c": EXPORTS}
    path = native.build(sources, [native.Unit("exports.c", ("-O2", "-fPIC"))], ["-shared"], "seeds.so")
    loaded = ctypes.CDLL(str(path))
    loaded.derive1.restype = loaded.derive2.restype = ctypes.c_uint64
    loaded.below.restype = ctypes.c_uint32
    return loaded


def test_values_never_change() -> None:
    assert seeds.derive(0) == 0xE220A8397B1DCDAF, "the first output of splitmix64 from state 0"
    assert seeds.fold("a") == 0xAF63DC4C8601EC8C, "the published FNV-1a value"
    assert seeds.derive(2013, 123456) == 0xEC6501D3DF4608AC
    assert seeds.derive(7, "pair", "a", "b", 0) == 0x41F5FC51A1740370


@settings(max_examples=300, deadline=None)
@given(seed=NUMBERS, first=NUMBERS, second=NUMBERS)
def test_c_gives_the_same_numbers(library: ctypes.CDLL, seed: int, first: int, second: int) -> None:
    u64 = ctypes.c_uint64
    assert library.derive1(u64(seed), u64(first)) == seeds.derive(seed, first)
    assert library.derive2(u64(seed), u64(first), u64(second)) == seeds.derive(seed, first, second)


@settings(max_examples=100, deadline=None)
@given(state=NUMBERS, n=st.integers(1, 2**32 - 1))
def test_below_is_a_stream_value_scaled(library: ctypes.CDLL, state: int, n: int) -> None:
    value = seeds.mix(state + 0x9E3779B97F4A7C15)
    assert library.below(ctypes.c_uint64(state), ctypes.c_uint32(n)) == value * n >> 64


def test_javascript_gives_the_same_numbers() -> None:
    """Many keys at once: a Node starts for each call."""
    rng = random.Random(2013)
    parts = [rng.getrandbits(64), rng.getrandbits(64), rng.getrandbits(8), 0, "", "a", "Zoë", "日本", "x" * 99]
    keys = [[str(rng.getrandbits(64)), *rng.choices(parts, k=rng.randrange(4))] for _ in range(300)]
    sent = [
        [{"text": part} if isinstance(part, str) and i else str(part) for i, part in enumerate(key)]
        for key in keys
    ]
    module = Path(native.__file__).with_name("native") / "seeds.mjs"
    script = f"""
        import {{ derive }} from {json.dumps(module.as_uri())};
        const part = (value) => (typeof value === "string" ? BigInt(value) : value.text);
        const keys = JSON.parse(process.argv[1]);
        console.log(JSON.stringify(keys.map(([seed, ...key]) => String(derive(BigInt(seed), ...key.map(part))))));
    """
    command = [str(node_binary()), "--input-type=module", "-e", script, "--", json.dumps(sent)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [int(value) for value in found] == [seeds.derive(int(seed), *key) for seed, *key in keys]


def test_keys_that_differ_anywhere_give_other_seeds() -> None:
    keys = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), ("",), ("a",), ("a", "b"), ("ab",), ("b", "a")]
    assert len({seeds.derive(5, *key) for key in keys} | {seeds.derive(6, *key) for key in keys}) == 22
