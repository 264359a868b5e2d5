"""Tests of the Spark front end."""
