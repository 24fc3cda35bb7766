"""Bulk edits: change many rows at once, with preview, report and undo."""
