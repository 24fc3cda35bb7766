"""Domain functions for bulk edits."""
