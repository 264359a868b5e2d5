"""Jobs: the saved plan, source snapshot and stored results of a pipeline run."""
