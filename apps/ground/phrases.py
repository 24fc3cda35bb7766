"""The phrases that the interface refuses values with.

Clients compare them letter by letter, so each is written once. Pages tell them in the reader's language (``retold``).
"""

from collections.abc import Iterable

from django.utils.translation import gettext, gettext_noop

from apps.ground.languages import retold_amount
from apps.ground.retelling import tells

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

# Whole answers.
NOT_FOUND = "Not Found"
BAD_REQUEST = "Bad Request"
LIMIT_EXCEEDED = "Call limit exceeded"
PARAMETER_MISSING = "Required parameter missing or invalid"

_AT_LEAST = tells(gettext_noop("must be greater than or equal to {limit}"), limit=retold_amount)
_AT_MOST = tells(gettext_noop("must be less than or equal to {limit}"), limit=retold_amount)
_BETWEEN = tells(gettext_noop("must be between {low} and {high}"), low=retold_amount, high=retold_amount)
_ONE_OF = tells(gettext_noop("must be one of {words}"))
_AT_MOST_IDS = tells(gettext_noop("must be at most {limit} ids"))
_TOO_MANY = tells(gettext_noop("has too many {things} (maximum is {limit})"), things=gettext)
_TOO_LONG = tells(gettext_noop("is too long (maximum is {limit} {unit})"), unit=gettext)
_TOO_LARGE = tells(gettext_noop("is too large (maximum is {size})"))
_LARGER = tells(gettext_noop("is larger than {size}")).removeprefix("is ")

_PREFIXES = ((2**20, "M"), (2**10, "K"))


def at_least(limit: object) -> str:
    """The value is below the limit."""
    return _AT_LEAST.format(limit=limit)


def at_most(limit: object) -> str:
    """The value is above the limit."""
    return _AT_MOST.format(limit=limit)


def between(low: object, high: object) -> str:
    """The value is outside of the limits."""
    return _BETWEEN.format(low=low, high=high)


def one_of(words: Iterable[str]) -> str:
    """The value is none of these."""
    return _ONE_OF.format(words=", ".join(words))


def at_most_ids(limit: object) -> str:
    """The list has more ids than the limit."""
    return _AT_MOST_IDS.format(limit=limit)


def too_many(things: str, limit: object) -> str:
    """There are more things than the limit."""
    return _TOO_MANY.format(things=things, limit=limit)


def too_long(limit: object, unit: str = "characters") -> str:
    """The text is longer than the limit."""
    return _TOO_LONG.format(limit=limit, unit=unit)


def too_large(limit: int) -> str:
    """The file has more bytes than the limit."""
    return _TOO_LARGE.format(size=size_of(limit, unit="B"))


def larger_than(limit: int) -> str:
    """The answer or picture has more bytes than the limit."""
    return _LARGER.format(size=size_of(limit))


def answer_larger_than(limit: int) -> str:
    """The page has more bytes than the limit."""
    return f"makes an answer larger than {size_of(limit)}; ask for fewer rows or fields"


def size_of(count: int, *, unit: str = "iB") -> str:
    """A number of bytes in the largest unit of which it is a multiple: ``20 MiB`` for 20 · 2²⁰."""
    return next(
        (f"{count // factor} {name}{unit}" for factor, name in _PREFIXES if count % factor == 0), f"{count} bytes"
    )
