"""What lineage costs beside the alternatives: systems that answer, their times, a report.

Systems (`systems`) are asked the same questions in one process and in turns; whatever they
answer is compared as sets before any time counts.
"""
