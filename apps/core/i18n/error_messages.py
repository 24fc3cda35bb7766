"""The REST API's error messages for values.

Each message is defined once, because clients compare messages literally. The panel translates the messages.
"""

from collections.abc import Iterable
from decimal import Decimal

from apps.core.i18n.messages import Amount, Message, define_message, define_text

BLANK = define_text("blank", "can't be blank")
INVALID = define_text("invalid", "is invalid")
TAKEN = define_text("taken", "has already been taken")
NOT_IN_LIST = define_text("not_in_list", "is not included in the list")
NOT_A_NUMBER = define_text("not_a_number", "is not a number")
NOT_WHOLE = define_text("not_whole", "must be a whole number")
NOT_A_DATE = define_text("not_a_date", "is not a date")
NOT_A_URL = define_text("not_a_url", "is not a valid URL")
NOT_BOOLEAN = define_text("not_boolean", "must be true or false")
NOT_SECURE = define_text("not_secure", "must be secure (HTTPS)")
MUST_EXIST = define_text("must_exist", "must exist")

# Messages that are sent as the whole body of a response.
NOT_FOUND = "Not Found"
BAD_REQUEST = "Bad Request"
LIMIT_EXCEEDED = "Call limit exceeded"
PARAMETER_MISSING = "Required parameter missing or invalid"

_AT_LEAST = define_message("at_least", "must be greater than or equal to {limit}")
_AT_MOST = define_message("at_most", "must be less than or equal to {limit}")
_BETWEEN = define_message("between", "must be between {low} and {high}")
_ONE_OF = define_message("one_of", "must be one of {words}")
_AT_MOST_IDS = define_message("at_most_ids", "must be at most {limit} ids")
_TOO_MANY = define_message("too_many", "has too many {things} (maximum is {limit})")
_TOO_LONG = define_message("too_long", "is too long (maximum is {limit} {unit})")
_TOO_SHORT = define_message("too_short", "is too short (minimum is {limit} characters)")
_TOO_LARGE = define_message("too_large", "is too large (maximum is {size})")
_LARGER = define_message("larger_than", "larger than {size}")
_IS_LARGER = define_message("is_larger_than", "is larger than {size}")
# The nouns in the messages above. Each noun is marked for translation where models have the same label.
_NOUNS = {
    noun: define_text(f"noun.{noun.lower()}", noun)
    for noun in (
        *("addresses", "bytes", "characters", "currencies", "entries", "KB", "lines"),
        *("metafields", "options", "rules", "tags"),
    )
}

_PREFIXES = ((2**20, "M"), (2**10, "K"))


def at_least(limit: Decimal | int | str) -> Message:
    return _AT_LEAST(limit=Amount(limit))


def at_most(limit: Decimal | int | str) -> Message:
    return _AT_MOST(limit=Amount(limit))


def between(low: Decimal | int | str, high: Decimal | int | str) -> Message:
    return _BETWEEN(low=Amount(low), high=Amount(high))


def one_of(words: Iterable[str]) -> Message:
    return _ONE_OF(words=", ".join(words))


def at_most_ids(limit: int | str) -> Message:
    return _AT_MOST_IDS(limit=limit)


def too_many(items: str, limit: int | str) -> Message:
    return _TOO_MANY(things=_NOUNS.get(items, items), limit=limit)


def too_long(limit: int | str, unit: str = "characters") -> Message:
    return _TOO_LONG(limit=limit, unit=_NOUNS[unit])


def too_short(limit: int | str) -> Message:
    return _TOO_SHORT(limit=limit)


def too_large(limit: int) -> Message:
    return _TOO_LARGE(size=format_bytes(limit))


def larger_than(limit: int) -> Message:
    return _LARGER(size=format_bytes(limit))


def is_larger_than(limit: int) -> Message:
    return _IS_LARGER(size=format_bytes(limit))


def response_larger_than(limit: int) -> str:
    return f"makes the response larger than {format_bytes(limit)}; request fewer rows or fields"


def format_bytes(count: int) -> str:
    """Format a number of bytes in the largest unit that gives a whole number: ``20 MB`` for 20 · 2²⁰.

    As in Django's ``filesizeformat``, a KB has 1,024 bytes.
    """
    return next((f"{count // factor} {name}B" for factor, name in _PREFIXES if count % factor == 0), f"{count} bytes")
