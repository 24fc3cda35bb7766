"""Asking for background work, and doing it."""
