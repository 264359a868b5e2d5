"""Lineage of later calls from that of earlier ones (DSLog, Section VI; thesis, Chapter 5).

An operation whose lineage does not depend on values has the same table whenever it is called
with the same shapes and arguments (a *dimensional* signature). For other shapes the table is
the same but for its numbers, which depend on the sizes (a *generalised* signature):

    numpy.sum(A, axis=1)      out          in
    A of shape (4, 7)         [0, 3]       o0, [0, 6]
    A of shape (9, 5)         [0, 8]       o0, [0, 4]
    A of shape (n, m)         [0, n-1]     o0, [0, m-1]

    memory.py         what was learnt, and its file
    sizes.py          which calls are alike enough to be compared
    progressions.py   a table as few numbers, however many rows it has
    forms.py          numbers as linear functions of sizes
    rational.py       the algebra for that
    arguments.py      which arguments leave lineage as it is
    learning.py       what a captured call changes in what was learnt
    evidence.py       when there is enough of it to predict
    predictor.py      `Reuse`: all of it, as a store uses it
"""
