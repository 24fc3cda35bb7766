"""Formats for dates and times in English."""
