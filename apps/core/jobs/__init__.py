"""Enqueue and run background jobs."""
