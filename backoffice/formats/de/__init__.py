"""Formats for dates and times in German."""
