"""Counters of the work that a dispatcher has done."""

from dataclasses import dataclass


@dataclass(slots=True)
class DispatcherCounters:
    """Counts of the work that a dispatcher has done since its start."""

    events: int = 0
    deliveries: int = 0
    sent: int = 0
    succeeded: int = 0
    failed: int = 0
    fenced: int = 0
    reaped: int = 0
    blocked: int = 0
    claims: int = 0
    trips: int = 0
