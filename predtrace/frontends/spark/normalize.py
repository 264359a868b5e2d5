"""Normalises analyzed plans by selected Catalyst rules that keep row lineage.

The whole optimizer is not used: it merges scalar subqueries, drops joins and subqueries whose rows
are lineage, and stops EXISTS at the first match. Some of the selected rules may also drop or copy
parts that only lineage needs. A rule is therefore not applied to a plan that would read other scans
afterwards. `docs/soundness.md` has the argument for each rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from predtrace.errors import UnsupportedOperatorError
from predtrace.frontends.spark.building import Builder, builder_in
from predtrace.frontends.spark.catalyst import CATALYST, JavaObject, Jvm, items, place, singleton
from predtrace.frontends.spark.domain_leaves import with_domain_leaves
from predtrace.frontends.spark.negations import comparisons, negate_inwards
from predtrace.frontends.spark.padding import drop_padding
from predtrace.frontends.spark.tree import Node, read_tree

_PULL_UP = "optimizer.PullupCorrelatedPredicates"
_TO_JOINS = "optimizer.RewritePredicateSubquery"
AS_RUN = (
    # CAST(c AS type) = constant becomes a condition on c. Around clock changes the condition
    # differs, and the run's optimizer selects rows by the new one.
    "optimizer.UnwrapCastInBinaryComparison",
    # Extracts a part of a value just made (`map(…)['k']`): NULL or duplicate keys then do not fail.
    "optimizer.SimplifyExtractValueOps",
)
"""Rules of the optimizer that change values; the run applies them, too, unless it excludes them."""
Pass: TypeAlias = Callable[[JavaObject, Jvm], JavaObject]
"""A rule of our own: the plan after it."""

FIRST_RULES = (
    # Folds current_date and the like to one value, also in subqueries, before any cut.
    "optimizer.ComputeCurrentTime",
)
RULES: tuple[str | Pass, ...] = (
    # Names only.
    "analysis.EliminateSubqueryAliases",
    # A view node around the view's plan: names only.
    "analysis.EliminateView",
    # Hints choose a join algorithm, never rows.
    "optimizer.EliminateResolvedHint",
    # Constant subexpressions become literals: equal value for every row.
    "optimizer.ConstantFolding",
    *AS_RUN,
    # Moves correlated conjuncts of a subquery into the subquery's condition: same matches.
    # Where that is not possible it joins the subquery with the outer values that it reads.
    _PULL_UP,
    # A lateral join becomes a join with what the subquery gives for each combination of these
    # values.
    "optimizer.RewriteLateralSubquery",
    # A correlated scalar subquery becomes a left outer join on its groups, which pairs each
    # outer row with exactly the group that its value was computed from.
    "optimizer.RewriteCorrelatedScalarSubquery",
    # NOT moves inwards to the IN below it: the next rule knows NOT IN by its own NOT.
    negate_inwards,
    # Conjuncts of a join's condition that read one side become a filter on that side, if this does
    # not change the pairs. The next rule handles NOT IN only in filters; elsewhere it would lose
    # its NULLs.
    "optimizer.PushPredicateThroughJoin",
    # EXISTS and IN become semi joins, NOT ones anti joins, those under OR or CASE existence
    # joins: the condition matches the same inner rows.
    _TO_JOINS,
    # Logical equivalences (factors common conjuncts out of OR): true for the same rows.
    "optimizer.BooleanSimplification",
    # A filter commutes with what it is moved through: the same rows reach the output.
    "optimizer.PushDownPredicates",
    # If a filter above drops the padded rows of an outer join, it is an inner join: the same rows,
    # and a padded row that is dropped is in no lineage.
    drop_padding,
    # Inner joins in an order that joins on conditions: the same tuples of rows.
    "optimizer.ReorderJoin",
    # Projections that change nothing.
    "optimizer.RemoveNoopOperators",
)
_MAX_ROUNDS = 50


@dataclass
class Normalizer:
    """Applies the rules in one JVM.

    `excluded` is the session's list, as text, of excluded optimizer rules. `compared` has the
    comparisons of the NOT INs that have become joins: see `comparisons`. `domains` has
    the attributes of leaves that stand for values of outer rows: see `with_domain_leaves`.
    """

    jvm: Jvm
    excluded: str = ""
    compared: dict[int, JavaObject] = field(default_factory=dict)
    domains: dict[int, int] = field(default_factory=dict)

    def inline_ctes(self, plan: JavaObject) -> JavaObject:
        """Replace every reference to a CTE by a copy of its plan; copies get new ids.

        A CTE that is read several times stays if copies need not give the same rows.
        """
        return _inlining(self.jvm).apply(plan)

    def fold_time(self, plan: JavaObject) -> JavaObject:
        """The plan with current_date, current_timestamp and the like as literals."""
        for name in FIRST_RULES:
            plan = self._rule(name).apply(plan)
        return plan

    def fold_tables(self, plan: JavaObject) -> JavaObject:
        """The plan with the rows of VALUES computed, where analysis left expressions there."""
        return self._rule("optimizer.EvalInlineTables").apply(plan)

    def fold_names(self, plan: JavaObject, session: JavaObject) -> JavaObject:
        """The plan with current_user, current_database and their like as literals."""
        catalogs = session.sessionState().catalogManager()
        rule = self.jvm.org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike(catalogs)
        return rule.apply(plan)

    def normalize(self, plan: JavaObject) -> JavaObject:
        """The rules in order, again until nothing changes.

        Plans inside uncorrelated subquery expressions stay unchanged; the translation normalises
        each when it turns it into an operator.
        """
        plan = self._settle_nested(plan)
        for _ in range(_MAX_ROUNDS):
            before = plan
            for rule in RULES:
                plan = self._applied(rule, plan)
            if plan.fastEquals(before):
                return plan
        raise UnsupportedOperatorError(
            f"the plan did not settle after {_MAX_ROUNDS} rounds of normalisation; "
            "split the query into several"
        )

    def _settle_nested(self, plan: JavaObject) -> JavaObject:
        """Normalise the subqueries that hold subqueries of their own, innermost first.

        The rules that turn subqueries into joins look one level deep: before its correlation is
        pulled up, they would treat an inner subquery as uncorrelated.
        """
        if not plan.subqueriesAll().size():
            return plan
        tree = read_tree(plan)
        _refuse_grouping_by_subqueries(tree)
        if not any(_holds_subqueries(expr.subplan()) for expr in _subqueries(tree)):
            return plan
        return self._settled(tree, builder_in(self.jvm))

    def _settled(self, node: Node, builder: Builder) -> JavaObject:
        children = [self._settled(child, builder) for child in node.children]
        roots = node.roots()
        replaced = {
            expr: expr.handle.withNewPlan(self.normalize(expr.handle.plan()))
            for found in roots.values()
            for root in (found if isinstance(found, tuple) else (found,))
            for expr in root.walk()
            if expr.is_subquery and _holds_subqueries(expr.subplan())
        }
        plan = builder.with_expressions(node, replaced, roots) if replaced else node.handle
        return builder.with_children(plan, children) if children else plan

    def _applied(self, rule: str | Pass, plan: JavaObject) -> JavaObject:
        """The plan after a rule, or the unchanged plan if the result would read other scans."""
        if rule in AS_RUN and f"{CATALYST}.{rule}" in self.excluded:
            return plan
        if rule == _TO_JOINS:
            self.compared.update(comparisons(plan, self.jvm))
        after = self._rewritten(rule, plan)
        if rule == _PULL_UP:
            after = with_domain_leaves(after, self.jvm, self.domains)
        unchanged = after.fastEquals(plan) or self._leaf_count(after) != self._leaf_count(plan)
        return plan if unchanged else after

    def _leaf_count(self, plan: JavaObject) -> int:
        """The number of leaves of a plan, including subqueries at any depth, without domains."""
        plans = [plan, *items(plan.subqueriesAll())]
        if not self.domains:
            return sum(int(each.collectLeaves().size()) for each in plans)
        leaves = (leaf for each in plans for leaf in items(each.collectLeaves()))
        return sum(not self._is_domain(leaf) for leaf in leaves)

    def _is_domain(self, leaf: JavaObject) -> bool:
        output = leaf.output()
        return bool(output.size()) and int(output.apply(0).exprId().id()) in self.domains

    def _rewritten(self, rule: str | Pass, plan: JavaObject) -> JavaObject:
        from pyspark.errors import AnalysisException

        try:
            return rule(plan, self.jvm) if callable(rule) else self._rule(rule).apply(plan)
        except AnalysisException as error:
            # Spark refuses some queries only when it plans them, not when it reads them.
            raise UnsupportedOperatorError(f"Spark cannot run this query: {error}") from error

    def _rule(self, name: str) -> JavaObject:
        return singleton(self.jvm, f"{CATALYST}.{name}")


@functools.lru_cache(maxsize=4)
def _inlining(jvm: Jvm) -> JavaObject:
    return jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(False, False, False)


def _refuse_grouping_by_subqueries(plan: Node) -> None:
    """Refuse a subquery in a grouping key: Catalyst has such a key twice and rewrites only one."""
    for node in plan.walk():
        keys = node.expressions("groupingExpressions") if node.cls == "Aggregate" else ()
        for expr in (below for key in keys for below in key.walk()):
            if expr.is_subquery:
                raise UnsupportedOperatorError(
                    "a subquery in GROUP BY cannot be traced; compute it in a subquery of FROM "
                    f"and group by its column{place(expr.handle)}"
                )


def _subqueries(plan: Node) -> Iterator[Node]:
    """The subquery expressions of a plan, without nested ones."""
    for node in plan.walk():
        for root in node.all_expressions():
            yield from (expr for expr in root.walk() if expr.is_subquery)


def _holds_subqueries(plan: Node) -> bool:
    return any(True for _ in _subqueries(plan))
