"""Apply operations to the values of a row. All functions are pure.

Operations are JSON, keyed by field: ``{"how", "value", "round"}`` for amounts, ``{"add", "remove"}`` for tags, and the
new value for all other fields. Amounts are strings with the decimals of the shop's currency.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext_noop

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import at_least
from apps.core.i18n.messages import Amount, define_message
from apps.core.money import (
    MAX_AMOUNT,
    ZERO,
    format_decimal,
    has_valid_precision,
    round_money,
    round_to_step,
    round_up_to_ending,
)
from apps.core.tags import find_tag_error, normalize_tags
from apps.core.types import Attrs, ReadOnlyAttrs

_TOO_LARGE = define_message("bulk_edits.too_large", "must be less than {limit}")

AMOUNTS = {"price": gettext_noop("Price"), "compare_at_price": gettext_noop("Compare-at price")}
FIELD_LABELS = {
    **AMOUNTS,
    "status": gettext_noop("Status"),
    "tags": gettext_noop("Tags"),
    "vendor": gettext_noop("Vendor"),
    "product_type": gettext_noop("Type"),
    "email_consent": gettext_noop("Email marketing"),
    "sms_consent": "SMS marketing",
}
SET, PERCENT, AMOUNT, COPY, CLEAR = "set", "percent", "amount", "copy", "clear"
# The source price of ``COPY``, keyed by the price to set.
_COPIED_FROM = {"price": "compare_at_price", "compare_at_price": "price"}
# Roundings, keyed by name: the step, and the amount to subtract from a multiple of the step (0.05 for prices such as
# 7.95).
ROUNDINGS: dict[str, tuple[Decimal, Decimal]] = {
    "0.05": (Decimal("0.05"), ZERO),
    "0.10": (Decimal("0.10"), ZERO),
    "1": (Decimal(1), ZERO),
    "10": (Decimal(10), ZERO),
    "0.99": (Decimal(1), Decimal("0.01")),
    "0.95": (Decimal(1), Decimal("0.05")),
}


class ValueRefused(DomainError):
    pass


def get_roundings(currency: str) -> list[str]:
    """Return the names of the roundings that fit the decimal places of the currency."""
    return [
        name
        for name, (step, below) in ROUNDINGS.items()
        if has_valid_precision(step, currency) and has_valid_precision(below, currency)
    ]


def get_needed_fields(operations: ReadOnlyAttrs) -> list[str]:
    """Return the names of the fields that must be loaded to apply the operations."""
    copied = [_COPIED_FROM[name] for name in AMOUNTS if name in operations and operations[name]["how"] == COPY]
    return list(dict.fromkeys([*operations, *copied]))


def apply_operations(values: ReadOnlyAttrs, operations: ReadOnlyAttrs, currency: str) -> Attrs:
    """Return the new values of the fields that change. Each operation starts from the original values.

    ``values`` must contain the fields that ``get_needed_fields`` returns.

    Raises:
        ValueRefused: If a new value is invalid.
    """
    after: Attrs = {}
    for name, operation in operations.items():
        if name in AMOUNTS:
            after[name] = {key: _apply_to_amount(values, name, key, operation, currency) for key in values[name]}
        elif name == "tags":
            after[name] = _apply_to_tags(values[name], operation)
        else:
            after[name] = operation
    return {name: value for name, value in after.items() if value != values[name]}


def _apply_to_amount(
    values: ReadOnlyAttrs, name: str, key: str, operation: Mapping[str, str], currency: str
) -> str | None:
    method, current = operation["how"], values[name][key]
    if method == CLEAR:
        return None
    if method == COPY:
        copied: str | None = values[_COPIED_FROM[name]][key]
        # A price is required, so do not clear the price if there is no compare-at price to copy.
        return current if copied is None else copied
    operand = Decimal(operation["value"])
    if method == SET:
        amount = operand
    elif current is None:
        # A compare-at price that is not set can't be raised or lowered.
        return None
    else:
        amount = Decimal(current) * (100 + operand) / 100 if method == PERCENT else Decimal(current) + operand
    amount = _round_amount(amount, operation.get("round", ""), currency)
    if amount < 0:
        raise ValueRefused(at_least(0), field=name)
    if amount >= MAX_AMOUNT:
        raise ValueRefused(_TOO_LARGE(limit=Amount(MAX_AMOUNT)), field=name)
    return format_decimal(amount, currency)


def _round_amount(amount: Decimal, rounding: str, currency: str) -> Decimal:
    if rounding and amount > 0:
        step, below = ROUNDINGS[rounding]
        amount = round_up_to_ending(amount, step, below) if below else round_to_step(amount, step)
    return round_money(amount, currency)


def _apply_to_tags(current: str, operation: Mapping[str, Sequence[str]]) -> str:
    removed = {tag.casefold() for tag in operation.get("remove", ())}
    remaining = [tag for tag in current.split(", ") if tag and tag.casefold() not in removed]
    tags = normalize_tags([*remaining, *operation.get("add", ())])
    if fault := find_tag_error(tags):
        raise ValueRefused(fault, field="tags")
    return ", ".join(tags)


def summarize_changes(before: ReadOnlyAttrs, after: ReadOnlyAttrs) -> list[list[object]]:
    """Return the name, the old value and the new value of each changed field."""
    return [[name, summarize_value(before[name]), summarize_value(after[name])] for name in after]


def summarize_value(value: object) -> object:
    """Return a value for display. The amounts of several variants become a list of the lowest and highest amount."""
    if isinstance(value, Mapping):
        amounts = sorted({amount for amount in value.values() if amount is not None}, key=Decimal)
        return [amounts[0], amounts[-1]] if len(amounts) > 1 else amounts
    return "" if value is None else str(value)
