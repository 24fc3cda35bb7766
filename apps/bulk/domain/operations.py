"""What an edit does to a field: pure functions from the values of a row to those that it is to have.

Operations are JSON: by field ``{"how", "value", "round"}`` for amounts, ``{"add", "remove"}`` for tags, and the value
itself for all others. Amounts are texts with the decimals of the shop's currency.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext_noop

from apps.ground import languages
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.money import MAX_AMOUNT, ZERO, fits, nearest, rounded, text_of, up_to_ending
from apps.ground.phrases import at_least
from apps.ground.retelling import tells
from apps.ground.tags import canonical, fault_of

_TOO_LARGE = tells(gettext_noop("must be less than {limit}"), limit=languages.retold_amount)

AMOUNTS = {"price": gettext_noop("Price"), "compare_at_price": gettext_noop("Compare-at price")}
NAMES = {
    **AMOUNTS,
    "status": gettext_noop("Status"),
    "tags": gettext_noop("Tags"),
    "vendor": gettext_noop("Vendor"),
    "product_type": gettext_noop("Type"),
    "email_consent": gettext_noop("E-mail marketing"),
    "sms_consent": "SMS marketing",
}
SET, PERCENT, AMOUNT, COPY, CLEAR = "set", "percent", "amount", "copy", "clear"
# Which other price each one can be set to.
_OTHER = {"price": "compare_at_price", "compare_at_price": "price"}
# By the name of a rounding: the step, and how far below it the amount ends.
ROUNDINGS: dict[str, tuple[Decimal, Decimal]] = {
    "0.05": (Decimal("0.05"), ZERO),
    "0.10": (Decimal("0.10"), ZERO),
    "1": (Decimal(1), ZERO),
    "10": (Decimal(10), ZERO),
    "0.99": (Decimal(1), Decimal("0.01")),
    "0.95": (Decimal(1), Decimal("0.05")),
}


class ValueRefused(DomainError):
    """What a field would come to is no value for it."""

    code = "bulk_value_refused"


def roundings(currency: str) -> list[str]:
    """The roundings that come to amounts which the currency has."""
    return [name for name, (step, below) in ROUNDINGS.items() if fits(step, currency) and fits(below, currency)]


def needed(operations: Given) -> list[str]:
    """The fields of which an edit must know the values."""
    copied = [_OTHER[name] for name in AMOUNTS if name in operations and operations[name]["how"] == COPY]
    return list(dict.fromkeys([*operations, *copied]))


def wanted(values: Given, operations: Given, currency: str) -> Attrs:
    """The values that differ once the operations are done; each starts from what stands there before all of them.

    Args:
        values: Of the fields that ``needed`` names.
        operations: See the module.
        currency: The shop's.

    Raises:
        ValueRefused: An amount or a text would be none that the field can have.
    """
    after: Attrs = {}
    for name, operation in operations.items():
        if name in AMOUNTS:
            after[name] = {key: _amount(values, name, key, operation, currency) for key in values[name]}
        elif name == "tags":
            after[name] = _tags(values[name], operation)
        else:
            after[name] = operation
    return {name: value for name, value in after.items() if value != values[name]}


def _amount(values: Given, name: str, key: str, operation: Mapping[str, str], currency: str) -> str | None:
    how, present = operation["how"], values[name][key]
    if how == CLEAR:
        return None
    if how == COPY:
        other: str | None = values[_OTHER[name]][key]
        # A price there must be; where there is none to copy, it stays.
        return present if other is None else other
    given = Decimal(operation["value"])
    if how == SET:
        amount = given
    elif present is None:
        # Nothing is raised or lowered by anything.
        return None
    else:
        amount = Decimal(present) * (100 + given) / 100 if how == PERCENT else Decimal(present) + given
    amount = _rounded(amount, operation.get("round", ""), currency)
    if amount < 0:
        raise ValueRefused(at_least(0), field=name)
    if amount >= MAX_AMOUNT:
        raise ValueRefused(_TOO_LARGE.format(limit=MAX_AMOUNT), field=name)
    return text_of(amount, currency)


def _rounded(amount: Decimal, rounding: str, currency: str) -> Decimal:
    if rounding and amount > 0:
        step, below = ROUNDINGS[rounding]
        amount = up_to_ending(amount, step, below) if below else nearest(amount, step)
    return rounded(amount, currency)


def _tags(present: str, operation: Mapping[str, Sequence[str]]) -> str:
    gone = {tag.casefold() for tag in operation.get("remove", ())}
    kept = [tag for tag in present.split(", ") if tag and tag.casefold() not in gone]
    tags = canonical([*kept, *operation.get("add", ())])
    if fault := fault_of(tags):
        raise ValueRefused(fault, field="tags")
    return ", ".join(tags)


def told(before: Given, after: Given) -> list[list[str]]:
    """Field, old value and new one, as people read them."""
    return [[NAMES[name], in_words(before[name]), in_words(after[name])] for name in after]


def in_words(value: object) -> str:
    """A value for people; of the amounts of several variants the least and the greatest."""
    if isinstance(value, Mapping):
        amounts = sorted({Decimal(amount): amount for amount in value.values() if amount is not None}.items())
        texts = [amount for _, amount in amounts]
        return f"{texts[0]} – {texts[-1]}" if len(texts) > 1 else "".join(texts)
    text = "" if value is None else str(value)
    return text if text != text.lower() or " " in text or "," in text else text.replace("_", " ")
