"""Parse responses from fulfillment services strictly, because a service can return any content."""

from collections.abc import Mapping

from apps.ground.strict_json import InvalidJson, parse_json

MAX_BYTES = 4 * 1024 * 1024
_MAX_QUOTED = 60


class InvalidResponse(ValueError):
    """Raised when a response is invalid. The message contains the reason."""


def parse_json_object(body: bytes) -> Mapping[str, object]:
    """Parse a response as a JSON object.

    Raises:
        InvalidResponse: If the response is not a valid JSON object.
    """
    try:
        value = parse_json(body, limit=MAX_BYTES)
    except InvalidJson as error:
        raise InvalidResponse(f"The response is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidResponse("The response is not a JSON object.")
    return value


def quote_text(text: str) -> str:
    """Quote a string from a service in a message. Long strings are shortened."""
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")
