"""Event recording for the shops app, which must not import the events app.

The events app registers ``record_event`` at startup, so that dependencies point in one direction.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from django.db.models import Model


class Recorder(Protocol):
    """The signature of ``apps.events.domain.recording.record_event``."""

    def __call__(
        self,
        topic: str,
        instance: Model,
        *,
        actor: str,
        at: datetime,
        changes: Mapping[str, object] | None = None,
    ) -> object:
        pass


_recorders: list[Recorder] = []


def register_recorder(recorder: Recorder) -> None:
    """Register the recorder of the events app."""
    _recorders[:] = [recorder]


def record_shop_event(
    topic: str, instance: Model, *, actor: str, at: datetime, changes: Mapping[str, object] | None = None
) -> None:
    """Record an event of a shop, app, installation or token."""
    for recorder in _recorders:
        recorder(topic, instance, actor=actor, at=at, changes=changes)
