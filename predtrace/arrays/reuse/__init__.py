"""Lineage of later calls, inferred from earlier calls (DSLog, Section VI; thesis, Chapter 5).

An operation whose lineage does not depend on values has the same table whenever it is called with
the same shapes and arguments (a *dimensional* signature). For other shapes only the table's numbers
differ; they depend on the sizes (a *generalised* signature):

    numpy.sum(A, axis=1)      out          in
    A of shape (4, 7)         [0, 3]       o0, [0, 6]
    A of shape (9, 5)         [0, 8]       o0, [0, 4]
    A of shape (n, m)         [0, n-1]     o0, [0, m-1]

    memory.py         the learnt facts, and their file
    sizes.py          the calls that can be compared with each other
    progressions.py   tables of many rows as few numbers
    forms.py          numbers as linear functions of sizes
    rational.py       the algebra of forms
    arguments.py      the arguments that do not change lineage
    learning.py       the changes that a captured call makes to the learnt facts
    evidence.py       the evidence that a prediction needs
    predictor.py      `Reuse`: all of this for a store
"""
