"""Enqueuing and running background jobs."""
