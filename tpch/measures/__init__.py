"""The costs of lineage other than questions: inference, overhead of runs, startup, growth.

Each measure is a record of entries that are written one by one, so an interrupted run can continue.
Times are seconds in all rounds, shown as medians with their spread.
"""
