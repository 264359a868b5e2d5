"""Sorts rows by columns and finds runs among neighbours, without loops over rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from predtrace.packed.boxes import KEY_LIMIT, Flags, Ints, ravel


def sorting_order(columns: Sequence[Ints], sizes: Sequence[int] = ()) -> Ints | None:
    """The permutation that sorts rows lexicographically; None if they are sorted.

    The columns are packed into one int64 key where their ranges allow it. Rows that are
    equal in all columns come in any order. `sizes` bounds the columns' values, all from 0,
    where that is known.
    """
    if not columns or len(columns[0]) < 2:
        return None
    if sizes and math.prod(sizes) < KEY_LIMIT:
        key: Ints | None = ravel(columns, sizes)
    else:
        columns = list({id(column): column for column in columns}.values())
        key = _packed(columns)
    if key is None:
        order: Ints = np.lexsort(columns[::-1])
        return order
    if bool((key[1:] >= key[:-1]).all()):
        return None
    return np.argsort(key)


def differs(columns: Sequence[Ints], order: Ints | None) -> Flags:
    """Whether neighbours n and n + 1 differ in some column; shape (rows - 1,).

    `order` arranges the rows first. Without columns no rows differ, and the result, which
    broadcasts, has shape (1,).
    """
    result: Flags = np.zeros(1, np.bool_)
    for column in {id(column): column for column in columns}.values():
        arranged = column if order is None else column[order]
        result = result | (arranged[1:] != arranged[:-1])
    return result


def ranks_within(fresh: Flags) -> Ints:
    """The place of every row in its block; ``fresh[n]`` says that row n + 1 begins a block."""
    starts = np.concatenate([[0], np.flatnonzero(fresh) + 1])
    lengths = np.diff(np.concatenate([starts, [len(fresh) + 1]]))
    ranks: Ints = np.arange(len(fresh) + 1) - np.repeat(starts, lengths)
    return ranks


def joined_links(linked: Flags, steps: Sequence[Ints]) -> Flags:
    """The links to keep so that runs have constant steps and no row is in two runs.

    Link n ties row n to row n + 1. Only links in `linked` can be kept, and a run's links must agree
    in all `steps`. A row between two runs belongs to the earlier run. This is the result of
    extending every run as far as possible from left to right. Since any part of a run is a run, no
    other choice has fewer runs.
    """
    if not linked.any():
        return linked
    fresh = np.ones(len(linked), np.bool_)
    fresh[1:] = linked[1:] != linked[:-1]
    for step in steps:
        fresh[1:] |= step[1:] != step[:-1]
    fresh |= ~linked
    starts = np.flatnonzero(fresh)
    lengths = np.diff(np.concatenate([starts, [len(linked)]]))
    kept = _kept_blocks(linked[starts], lengths)
    # A kept block's first link is lost if the block before it took its first row.
    before = np.concatenate([[False], kept[:-1]])
    lost = before & linked[starts]
    joined: Flags = np.repeat(kept, lengths)
    joined[starts[lost]] = False
    return joined


def _kept_blocks(linked: Flags, lengths: Ints) -> Flags:
    """The blocks of equal links that keep at least one link.

    A block of two or more links always does. A block of one link does unless the block before it
    does. So in a chain of such blocks keeping alternates, starting from the last block before the
    chain.
    """
    known = ~linked | (lengths > 1)
    kept = linked & known
    index = np.arange(len(linked))
    last_known = np.maximum.accumulate(np.where(known, index, -1))
    start = np.where(last_known >= 0, kept[last_known], False)
    odd = ((index - last_known) % 2).astype(np.bool_)
    result: Flags = start ^ odd
    return result


def _packed(columns: Sequence[Ints]) -> Ints | None:
    """One int64 per row that sorts like the columns; None if it would not fit."""
    key: Ints | None = None
    span = 1
    for column in columns:
        least, greatest = int(column.min()), int(column.max())
        if least == greatest:
            continue
        size = greatest - least + 1
        span *= size
        if span >= KEY_LIMIT:
            return None
        key = column - least if key is None else key * size + (column - least)
    return np.zeros(len(columns[0]), np.int64) if key is None else key
