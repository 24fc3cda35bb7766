"""What one dispatcher counts about itself."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """What a dispatcher did since it began."""

    events: int = 0
    made: int = 0
    sent: int = 0
    succeeded: int = 0
    failed: int = 0
    fenced: int = 0
    reaped: int = 0
    blocked: int = 0
    claims: int = 0
    trips: int = 0
