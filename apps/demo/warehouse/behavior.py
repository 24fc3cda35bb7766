"""Options for the behavior of the demo warehouse, including deliberate errors."""

from collections.abc import Mapping
from dataclasses import dataclass

# Bad responses to requests for stock and tracking numbers. Each name maps to a status and a body.
BAD_RESPONSES: Mapping[str, tuple[int, bytes]] = {
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
class Behavior:
    """The behavior of the warehouse, which may be changed at any time.

    Attributes:
        rejects: True to reject fulfillment requests.
        insists: True to reject cancellation requests.
        ships: True to ship accepted fulfillment orders.
        ships_after: Seconds between acceptance and shipping.
        numbers_later: True to ship without a tracking number and report the number on request.
        delay: Seconds before each response to a callback.
        bad_response: The name of a bad response, or blank to respond correctly.
    """

    rejects: bool = False
    insists: bool = False
    ships: bool = True
    ships_after: float = 0.0
    numbers_later: bool = False
    delay: float = 0.0
    bad_response: str = ""
