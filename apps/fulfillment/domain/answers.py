"""Reading what services answer: strictly, as nothing of it is ours."""

from collections.abc import Mapping

from apps.ground.strict_json import BadJson, parse_json

MAX_BYTES = 4 * 1024 * 1024
_SHOWN = 60


class AnswerRefused(ValueError):
    """The answer is not one that we take; the message says why."""


def object_of(body: bytes) -> Mapping[str, object]:
    """The JSON object that an answer is.

    Raises:
        AnswerRefused: It is none.
    """
    try:
        value = parse_json(body, limit=MAX_BYTES)
    except BadJson as error:
        raise AnswerRefused(f"The answer is no JSON that we take: {error}") from error
    if not isinstance(value, dict):
        raise AnswerRefused("The answer is no JSON object.")
    return value


def shown(text: str) -> str:
    """A text of a service's as messages quote it."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
