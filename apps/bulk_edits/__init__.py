"""Bulk edits, which change many rows at once. Staff can preview an edit, read its report and undo it."""
