"""The REST API's error messages for values.

Each message is defined once, because clients compare messages literally. The panel translates the messages.
"""

from collections.abc import Iterable

from django.utils.translation import gettext, gettext_noop

from apps.ground.languages import localize_stored_amount
from apps.ground.stored_messages import register_message

BLANK = gettext_noop("can't be blank")
INVALID = gettext_noop("is invalid")
TAKEN = gettext_noop("has already been taken")
NOT_IN_LIST = gettext_noop("is not included in the list")
NOT_A_NUMBER = gettext_noop("is not a number")
NOT_WHOLE = gettext_noop("must be a whole number")
NOT_A_DATE = gettext_noop("is not a date")
NOT_A_URL = gettext_noop("is not a valid URL")
NOT_BOOLEAN = gettext_noop("must be true or false")
NOT_SECURE = gettext_noop("must be secure (HTTPS)")
MUST_EXIST = gettext_noop("must exist")

# Messages that are sent as the whole body of a response.
NOT_FOUND = "Not Found"
BAD_REQUEST = "Bad Request"
LIMIT_EXCEEDED = "Call limit exceeded"
PARAMETER_MISSING = "Required parameter missing or invalid"

_AT_LEAST = register_message(gettext_noop("must be greater than or equal to {limit}"), limit=localize_stored_amount)
_AT_MOST = register_message(gettext_noop("must be less than or equal to {limit}"), limit=localize_stored_amount)
_BETWEEN = register_message(
    gettext_noop("must be between {low} and {high}"), low=localize_stored_amount, high=localize_stored_amount
)
_ONE_OF = register_message(gettext_noop("must be one of {words}"))
_AT_MOST_IDS = register_message(gettext_noop("must be at most {limit} ids"))
_TOO_MANY = register_message(gettext_noop("has too many {things} (maximum is {limit})"), things=gettext)
_TOO_LONG = register_message(gettext_noop("is too long (maximum is {limit} {unit})"), unit=gettext)
_TOO_LARGE = register_message(gettext_noop("is too large (maximum is {size})"))
_LARGER = register_message(gettext_noop("is larger than {size}")).removeprefix("is ")

_PREFIXES = ((2**20, "M"), (2**10, "K"))


def at_least(limit: object) -> str:
    """Return the message for a value below the limit."""
    return _AT_LEAST.format(limit=limit)


def at_most(limit: object) -> str:
    """Return the message for a value above the limit."""
    return _AT_MOST.format(limit=limit)


def between(low: object, high: object) -> str:
    """Return the message for a value outside the limits."""
    return _BETWEEN.format(low=low, high=high)


def one_of(words: Iterable[str]) -> str:
    """Return the message for a value that is not in the list."""
    return _ONE_OF.format(words=", ".join(words))


def at_most_ids(limit: object) -> str:
    """Return the message for a list with too many ids."""
    return _AT_MOST_IDS.format(limit=limit)


def too_many(items: str, limit: object) -> str:
    """Return the message for a list with too many items."""
    return _TOO_MANY.format(things=items, limit=limit)


def too_long(limit: object, unit: str = "characters") -> str:
    """Return the message for a string that is too long."""
    return _TOO_LONG.format(limit=limit, unit=unit)


def too_large(limit: int) -> str:
    """Return the message for a file that is too large."""
    return _TOO_LARGE.format(size=format_bytes(limit, unit="B"))


def larger_than(limit: int) -> str:
    """Return the message for a response or image that is too large."""
    return _LARGER.format(size=format_bytes(limit))


def response_larger_than(limit: int) -> str:
    """Return the message for a page size that would make the response too large."""
    return f"makes the response larger than {format_bytes(limit)}; request fewer rows or fields"


def format_bytes(count: int, *, unit: str = "iB") -> str:
    """Format a number of bytes in the largest unit that gives a whole number: ``20 MiB`` for 20 · 2²⁰."""
    return next(
        (f"{count // factor} {name}{unit}" for factor, name in _PREFIXES if count % factor == 0), f"{count} bytes"
    )
