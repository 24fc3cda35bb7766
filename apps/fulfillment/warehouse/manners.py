"""How the warehouse behaves, well or badly."""

from collections.abc import Mapping
from dataclasses import dataclass

# By name, what it answers in place of its stock and its tracking numbers: the status and the body.
BAD_ANSWERS: Mapping[str, tuple[int, bytes]] = {
    "error": (500, b"Sorry"),
    "html": (200, b"<!doctype html><title>Welcome</title>"),
    "broken": (200, b'{"MUG": 1'),
    "list": (200, b"[1, 2, 3]"),
    "negative": (200, b'{"MUG": -1}'),
    "huge": (200, b'{"MUG": 1e400}'),
    "deep": (200, b"[" * 1000 + b"]" * 1000),
    "large": (200, b'{"MUG": "' + b"9" * (5 * 1024 * 1024) + b'"}'),
}


@dataclass(slots=True)
class Manners:
    """How it behaves; may be changed at any time.

    Attributes:
        rejects: Whether it rejects fulfillment requests.
        insists: Whether it rejects cancellation requests.
        ships: Whether it sends what it accepted.
        ships_after: Seconds from accepting to sending.
        numbers_later: Whether it sends without a tracking number, and tells it when it is asked.
        delay: Seconds before each answer to a callback.
        bad_answer: The name of a bad answer; blank for good ones.
    """

    rejects: bool = False
    insists: bool = False
    ships: bool = True
    ships_after: float = 0.0
    numbers_later: bool = False
    delay: float = 0.0
    bad_answer: str = ""
