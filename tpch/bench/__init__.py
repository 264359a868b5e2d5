"""The benchmark of lineage against the alternatives: systems, their times, a report.

Systems (`systems`) are asked the same questions in one process and in turns. Their answers are
compared as sets before any time counts.
"""
