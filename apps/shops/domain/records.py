"""How shops, which stand below the events, write down what happens to them.

The events app plugs its ``record_event`` in when it starts; the dependency points downwards only.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from django.db.models import Model


class Recorder(Protocol):
    """``apps.events.domain.recording.record_event``."""

    def __call__(
        self,
        topic: str,
        instance: Model,
        *,
        actor: str,
        at: datetime,
        changes: Mapping[str, object] | None = None,
    ) -> object:
        """Write the event row."""


_recorders: list[Recorder] = []


def use_recorder(recorder: Recorder) -> None:
    """Plug the events in."""
    _recorders[:] = [recorder]


def record(
    topic: str, instance: Model, *, actor: str, at: datetime, changes: Mapping[str, object] | None = None
) -> None:
    """Write down that something happened to a shop, an installation or a token."""
    for recorder in _recorders:
        recorder(topic, instance, actor=actor, at=at, changes=changes)
