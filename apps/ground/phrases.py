"""The phrases that the interface refuses values with.

Clients compare them letter by letter, so each is written once.
"""

from collections.abc import Iterable

BLANK = "can't be blank"
INVALID = "is invalid"
TAKEN = "has already been taken"
NOT_IN_LIST = "is not included in the list"
NOT_A_NUMBER = "is not a number"
NOT_WHOLE = "must be a whole number"
NOT_A_DATE = "is not a date"
NOT_A_URL = "is not a valid URL"
NOT_BOOLEAN = "must be true or false"
NOT_SECURE = "must be secure (HTTPS)"
MUST_EXIST = "must exist"

# Whole answers.
NOT_FOUND = "Not Found"
BAD_REQUEST = "Bad Request"
LIMIT_EXCEEDED = "Call limit exceeded"
PARAMETER_MISSING = "Required parameter missing or invalid"

_PREFIXES = ((2**20, "M"), (2**10, "K"))


def at_least(limit: object) -> str:
    """The value is below the limit."""
    return f"must be greater than or equal to {limit}"


def at_most(limit: object) -> str:
    """The value is above the limit."""
    return f"must be less than or equal to {limit}"


def between(low: object, high: object) -> str:
    """The value is outside of the limits."""
    return f"must be between {low} and {high}"


def one_of(words: Iterable[str]) -> str:
    """The value is none of these."""
    return f"must be one of {', '.join(words)}"


def at_most_ids(limit: object) -> str:
    """The list has more ids than the limit."""
    return f"must be at most {limit} ids"


def too_many(things: str, limit: object) -> str:
    """There are more things than the limit."""
    return f"has too many {things} (maximum is {limit})"


def too_long(limit: object, unit: str = "characters") -> str:
    """The text is longer than the limit."""
    return f"is too long (maximum is {limit} {unit})"


def too_large(limit: int) -> str:
    """The file has more bytes than the limit."""
    return f"is too large (maximum is {size_of(limit, unit='B')})"


def larger_than(limit: int) -> str:
    """The answer or picture has more bytes than the limit."""
    return f"larger than {size_of(limit)}"


def answer_larger_than(limit: int) -> str:
    """The page has more bytes than the limit."""
    return f"makes an answer larger than {size_of(limit)}; ask for fewer rows or fields"


def size_of(count: int, *, unit: str = "iB") -> str:
    """A number of bytes in the largest unit of which it is a multiple: ``20 MiB`` for 20 · 2²⁰."""
    return next(
        (f"{count // factor} {name}{unit}" for factor, name in _PREFIXES if count % factor == 0), f"{count} bytes"
    )
