"""Reports for people: explanations of plans and lineage answers, as text and as plain data."""
