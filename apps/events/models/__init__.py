"""Models for events."""

from apps.events.models.events import Event

__all__ = ["Event"]
