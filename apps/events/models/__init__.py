"""Models of events."""

from apps.events.models.events import Event

__all__ = ["Event"]
