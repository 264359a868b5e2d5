"""Listening to a Spark program: what its SQL executions were, once they have ended.

A small Java listener queues them; Python polls the queue. See `java/predtrace/listener/Sink.java`.
"""
