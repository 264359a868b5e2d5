"""What lineage costs apart from questions: inference, overhead of runs, starting, growth.

Each measure is a record of entries that are written as they come, so that a run that was cut
goes on where it was; times are seconds in all rounds, shown as medians with their spread.
"""
