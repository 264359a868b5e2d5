"""Cell-level lineage of arrays: captured, compressed, stored and queried without unpacking.

After DSLog ("Compression and In-Situ Query Processing for Fine-Grained Array Lineage")
and the thesis it grew from.
"""
