"""Domain functions of bulk edits."""
