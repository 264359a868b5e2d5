"""The independent reference tracer: an eager interpreter of operator graphs in plain Python.

It is written from the lineage definition (docs/semantics.md, section 2) and knows nothing
of pushdown rules, inference or engines, so that it can judge them.
"""

from tests.reference.plans import PlanAnswer, evaluate_plan
from tests.reference.tracer import ReferenceResult, trace_graph
from tests.reference.values import row_key

__all__ = ["PlanAnswer", "ReferenceResult", "evaluate_plan", "row_key", "trace_graph"]
