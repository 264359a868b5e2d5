"""Plans of trees are, byte for byte, what they were before graphs could share operators."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from predtrace.inference import infer
from predtrace.inference.plan import LineagePlan
from predtrace.jobs.codec import NodeWriter
from predtrace.jobs.fields import encode_struct
from pushdown.graph import OperatorGraph
from pushdown.unfolding import unfold
from tests.chains import STEPS, chain

KNOWN: dict[str, str] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "plans_of_trees.json").read_text()
)
"""By chain and reading: the checksum of its plan, as the commit before made it."""
NAMES = tuple(STEPS)
CHAINS = {f"{name} {steps}": ((name,), steps) for name in NAMES for steps in (1, 2, 3)} | {
    f"{name} and on": ((*NAMES[place:], *NAMES[:place]), 4) for place, name in enumerate(NAMES)
}


def checksum(plan: LineagePlan) -> str:
    """Of the plan as a job has it, without its prose."""
    silent = msgspec.structs.replace(
        plan,
        scans=tuple(msgspec.structs.replace(scan, reason="") for scan in plan.scans),
        intermediates=tuple(msgspec.structs.replace(i, why="") for i in plan.intermediates),
        steps=tuple(msgspec.structs.replace(step, reason="") for step in plan.steps),
    )
    writer = NodeWriter()
    record = encode_struct(silent, writer.add)
    data = msgspec.json.encode({"nodes": writer.nodes, "plan": record})
    return hashlib.sha256(data).hexdigest()


def tree(name: str) -> OperatorGraph:
    kinds, steps = CHAINS[name]
    return unfold(chain(kinds, steps).graph).graph


@pytest.mark.parametrize("name", CHAINS)
def test_the_plan_is_as_it_was(name: str) -> None:
    graph = tree(name)
    assert not graph.shared
    found = {
        f"{name}, {reading}": checksum(infer(graph, reading)) for reading in ("minimal", "whole")
    }
    assert found == {key: KNOWN[key] for key in found}
