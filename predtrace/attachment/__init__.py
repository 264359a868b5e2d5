"""Jobs of a running Spark program: they are recorded when they have ended, beside the program."""
