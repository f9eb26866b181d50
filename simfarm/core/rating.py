"""Ratings from pairings: the Bradley-Terry model, with errors that allow for games that hang together.

The model: the chance that i scores against j is ``1 / (1 + 10 ** ((r_j - r_i) / 400))``. Ratings are fitted to all
scores at once and average 0; a tie scores one half to each side. Games of one block hang together (the bots remember,
deals may be shared), so the error comes from how much whole blocks deviate from the fit, not single games.

A finite fit exists only if everybody has scored against everybody else, at least through others. Otherwise there is
no rating, and :func:`rate` says what is missing instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SCALE = 400 / np.log(10)
"""Rating points per unit of log-odds."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rating:
    """One competitor's rating."""

    value: float | None
    """Points, 0 on average; None without a finite fit."""
    error: float | None
    """Standard error of the value; None without a value, or with too few blocks to tell."""
    note: str = ""
    """Why there is no value."""


def rate(
    names: Sequence[str],
    pairs: npt.NDArray[np.intp],
    scores: Floats,
    counts: Floats,
    clusters: npt.NDArray[np.intp] | None = None,
) -> list[Rating]:
    """Rate competitors.

    Args:
        names: the competitors.
        pairs: positions in ``names``, one row ``(i, j)`` per block, shape (blocks, 2).
        scores: what i scored against j in each block, ties a half each.
        counts: how often they met in each block.
        clusters: rows with the same number hang together, as pairs of one table do; None: none do.
    """
    size = len(names)
    beats = np.zeros((size, size), dtype=bool)
    beats[pairs[scores > 0, 0], pairs[scores > 0, 1]] = True
    beats[pairs[scores < counts, 1], pairs[scores < counts, 0]] = True
    notes = [_missing(index, names, beats) for index in range(size)]
    if size < 2 or any(notes):
        return [Rating(None, None, note or "others have no finite rating") for note in notes]
    strength = _fit(size, pairs, scores, counts)
    numbers = np.arange(len(pairs)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    error = _errors(size, pairs, scores, counts, strength, numbers)
    known = int(numbers.max()) + 1 >= size
    return [
        Rating(float(value), float(sigma) if known else None)
        for value, sigma in zip(strength * SCALE, error * SCALE, strict=True)
    ]


def _missing(index: int, names: Sequence[str], beats: npt.NDArray[np.bool_]) -> str:
    linked = _reached(index, beats | beats.T)
    apart = [name for other, name in enumerate(names) if not linked[other]]
    if apart:
        return f"not connected with {', '.join(apart)}"
    above = _reached(index, beats)
    unbeaten = [name for other, name in enumerate(names) if not above[other]]
    if unbeaten:
        return f"never won against {', '.join(unbeaten)}, not even through others"
    below = _reached(index, beats.T)
    unbeatable = [name for other, name in enumerate(names) if not below[other]]
    return f"never lost to {', '.join(unbeatable)}, not even through others" if unbeatable else ""


def _reached(start: int, edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    reached = np.zeros(len(edges), dtype=bool)
    reached[start] = True
    for _ in range(len(edges)):
        reached = reached | edges[reached].any(axis=0)
    return reached


def _expected(pairs: npt.NDArray[np.intp], strength: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]])))


def _information(size: int, pairs: npt.NDArray[np.intp], counts: Floats, expected: Floats) -> Floats:
    weight = counts * expected * (1 - expected)
    matrix = np.zeros((size, size))
    for (row, column), sign in (((0, 0), 1), ((1, 1), 1), ((0, 1), -1), ((1, 0), -1)):
        np.add.at(matrix, (pairs[:, row], pairs[:, column]), sign * weight)
    return matrix


def _inverse(information: Floats) -> Floats:
    """Only differences of ratings are known: the direction in which all rise alike is left out, rounding or not."""
    inverse: Floats = np.asarray(np.linalg.pinv(information, rcond=1e-10, hermitian=True), np.float64)
    return inverse


def _fit(size: int, pairs: npt.NDArray[np.intp], scores: Floats, counts: Floats) -> Floats:
    """The maximum of the likelihood, by Newton's method with steps of at most one unit of log-odds."""
    strength = np.zeros(size)
    for _ in range(200):
        expected = _expected(pairs, strength)
        slope = np.zeros(size)
        np.add.at(slope, pairs[:, 0], scores - counts * expected)
        np.add.at(slope, pairs[:, 1], counts * expected - scores)
        step = _inverse(_information(size, pairs, counts, expected)) @ slope
        largest = np.abs(step).max()
        strength += step / max(1.0, largest)
        if largest < 1e-10:
            break
    centred: Floats = strength - strength.mean()
    return centred


def _errors(
    size: int,
    pairs: npt.NDArray[np.intp],
    scores: Floats,
    counts: Floats,
    strength: Floats,
    clusters: npt.NDArray[np.intp],
) -> Floats:
    """Standard errors: the inverse information on both sides of the clusters' own scatter, with the usual
    allowance for the parameters that were fitted."""
    expected = _expected(pairs, strength)
    inverse = _inverse(_information(size, pairs, counts, expected))
    number = int(clusters.max()) + 1
    slopes = np.zeros((number, size))
    residuals = scores - counts * expected
    np.add.at(slopes, (clusters, pairs[:, 0]), residuals)
    np.add.at(slopes, (clusters, pairs[:, 1]), -residuals)
    spare = max(1, number - (size - 1))
    variance: Floats = np.diag(inverse @ (slopes.T @ slopes) @ inverse) * number / spare
    deviation: Floats = np.sqrt(variance)
    return deviation
