"""Front ends: they turn pipelines of other systems into operator graphs."""
