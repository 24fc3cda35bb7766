"""Imports of whole stores from other installations, through their REST API."""
