"""`Reuse`: the lineage of calls, predicted from earlier ones."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from predtrace.arrays.basis import Basis, Kind, Prediction
from predtrace.arrays.relation import LineageTable
from predtrace.arrays.reuse.evidence import CONFIRMATIONS, Group, is_repeated
from predtrace.arrays.reuse.learning import find, learn
from predtrace.arrays.reuse.memory import Learnt, LearntFile, LearntHere, Operation, Structure
from predtrace.arrays.reuse.progressions import unfold
from predtrace.arrays.reuse.sizes import sizes_of, structure_of
from predtrace.arrays.signatures import CallSignature
from predtrace.errors import ArrayLineageError

VERIFY_EVERY = 16
_KEPT_GROUPS = 256


class Reuse:
    """Learns lineage from captured calls, and predicts it for others.

        reuse = arrays.Reuse("lineage/")          # learns on, wherever others left off
        store.register_operation("sum", [a], [b], {"axis": 1}, capture, reuse)

    The learnt facts are kept in the folder, usually a store's folder; without a folder, in this
    object. Nothing is predicted before at least `confirmations` calls have confirmed it
    (`evidence`). One in `verify_every` predictions is verified instead: the call is captured and
    compared. Raises ArrayFormatError if the folder's file is damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        confirmations: int = CONFIRMATIONS,
        verify_every: int = VERIFY_EVERY,
        seed: int | None = None,
    ) -> None:
        if min(confirmations, verify_every) < 1:
            raise ArrayLineageError("confirmations and verify_every are numbers from 1")
        self.confirmations = confirmations
        self.verify_every = verify_every
        self._learnt = LearntHere() if folder is None else LearntFile(Path(folder))
        # Which prediction is verified first is random, so that short processes verify, too.
        self._random = random.Random(seed)
        self._ahead: dict[tuple[str, str], int] = {}
        self._groups: dict[object, tuple[Structure, Group]] = {}

    @property
    def learnt(self) -> Learnt:
        """The present facts, including calls of other processes."""
        return self._learnt.read()

    def predict(
        self, call: CallSignature, output: int, input: int, *, verifiable: bool = True
    ) -> Prediction | None:
        """The lineage between an output and an input of a call; None if it is to be captured.

        Calls that are not `verifiable`, since they cannot be captured, are not verified.
        """
        name = operation_name(call, output, input)
        operation = self.learnt.operations.get(name)
        if operation is None or operation.by_value:
            return None
        found = self._find(name, operation, call, output, input)
        if found is None or (verifiable and self._is_due(name, found.basis.structure)):
            return None
        return found

    def observe(
        self, call: CallSignature, captured: Mapping[tuple[int, int], LineageTable]
    ) -> None:
        """Learn from a call's captured tables, by positions (output, input)."""

        def learn_all(learnt: Learnt) -> Learnt:
            operations = dict(learnt.operations)
            for (output, input), table in captured.items():
                name = operation_name(call, output, input)
                known = operations.get(name, Operation())
                operations[name] = learn(known, call, table, self.confirmations)
            return replace(learnt, operations=operations)

        self._learnt.change(learn_all)

    def is_withdrawn(self, basis: Basis) -> bool:
        """Whether a captured call has since contradicted the basis of a prediction."""
        operation = self.learnt.operations.get(basis.operation)
        if operation is None:
            return False
        if operation.by_value:
            return True
        structure = operation.structures.get(basis.structure, Structure())
        return _withdrawals(structure, basis.kind) > basis.withdrawals

    def _find(
        self, name: str, operation: Operation, call: CallSignature, output: int, input: int
    ) -> Prediction | None:
        key = structure_of(call.in_shapes, call.out_shapes)
        structure = operation.structures.get(key)
        if structure is None:
            return None
        args = {k: v for k, v in call.args.items() if k not in structure.irrelevant}
        call = CallSignature(call.name, call.in_shapes, call.out_shapes, args)
        kind, folded, calls = Kind.DIMENSIONAL, None, 0
        entry = find(structure, call)
        if entry is not None and is_repeated(entry, self.confirmations):
            folded, calls = entry.progressions(), entry.calls
        if folded is None:
            group = self._group(name, key, structure, call)
            found = group.generalised(group.order_of(call))
            if found is not None:
                folded = found.form.at(sizes_of(call.in_shapes, call.out_shapes))
                kind, calls = Kind.GENERALISED, found.calls
        if folded is None:
            return None
        table = unfold(folded, call.out_shapes[output], call.in_shapes[input])
        if table is None:
            return None
        return Prediction(table, Basis(name, key, kind, calls, _withdrawals(structure, kind)))

    def _group(self, name: str, key: str, structure: Structure, call: CallSignature) -> Group:
        """The calls with the same arguments; remembered until something new is learnt."""
        asked = name, key, tuple(sorted(call.args.items()))
        known = self._groups.get(asked)
        if known is None or known[0] is not structure:
            if len(self._groups) >= _KEPT_GROUPS:
                self._groups.clear()
            known = structure, Group(structure, call.args, self.confirmations)
            self._groups[asked] = known
        return known[1]

    def _is_due(self, name: str, structure: str) -> bool:
        """Whether this prediction is to be verified; one in `verify_every` of a structure is."""
        ahead = self._ahead.get((name, structure))
        if ahead is None:
            ahead = self._random.randrange(self.verify_every)
        self._ahead[name, structure] = (ahead - 1) % self.verify_every
        return ahead == 0


def operation_name(call: CallSignature, output: int, input: int) -> str:
    """The name of the lineage between one output and one input of an operation."""
    return f"{call.name}/{output}/{input}"


def _withdrawals(structure: Structure, kind: Kind) -> int:
    return structure.withdrawn if kind is Kind.DIMENSIONAL else structure.forms_withdrawn
