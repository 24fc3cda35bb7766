"""Apply discounts that another system calculated: discount applications with their allocations to lines."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from apps.core.i18n.error_messages import INVALID, at_most
from apps.core.money import ZERO, has_valid_precision
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.orders.models import LineItem, Order, ShippingLine

PricedRow = LineItem | ShippingLine
APPLICATION_TYPES = ("automatic", "discount_code", "manual", "script")
# The values of the other members of an application, the default first.
APPLICATION_MEMBERS = {
    "value_type": ("fixed_amount", "percentage"),
    "allocation_method": ("across", "each", "one"),
    "target_selection": ("all", "entitled", "explicit"),
    "target_type": ("line_item", "shipping_line"),
}


def apply_given_discounts(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], applications: Sequence[ReadOnlyAttrs]
) -> Errors:
    """Set the order's discount applications, and the discounts of its rows from their ``discount_allocations``.

    The allocations have ``amount`` and ``discount_application_index``. Without applications, allocations are ignored.
    """
    order.discount_applications = [_complete_application(application) for application in applications]
    errors: Errors = {}
    rows_by_name: dict[str, Sequence[PricedRow]] = {"line_items": lines, "shipping_lines": shipping}
    for name, rows in rows_by_name.items():
        for index, row in enumerate(rows):
            allocations = row.discount_allocations if applications else []
            row.discount, row.discount_allocations = ZERO, []
            path = f"{name}.{index}.discount_allocations"
            errors |= dict(_allocate(order, row, allocations, path))
            if row.discount > (gross := row.net_price + row.discount):
                errors[path] = [at_most(gross)]
    return errors


def _allocate(
    order: Order, row: PricedRow, allocations: Sequence[ReadOnlyAttrs], path: str
) -> Iterator[tuple[str, list[str]]]:
    for index, allocation in enumerate(allocations):
        amount, application = allocation["amount"], allocation["discount_application_index"]
        if application >= len(order.discount_applications):
            yield f"{path}.{index}.discount_application_index", [INVALID]
        elif amount < 0 or not has_valid_precision(amount, order.currency):
            yield f"{path}.{index}.amount", [INVALID]
        elif amount:
            row.discount += amount
            row.discount_allocations.append({"amount": str(amount), "discount_application_index": application})


def _complete_application(application: ReadOnlyAttrs) -> Attrs:
    members = {name: application.get(name) or choices[0] for name, choices in APPLICATION_MEMBERS.items()}
    code = application.get("code") or ""
    title = application.get("title") or code or application.get("description") or "Discount"
    return {
        **members,
        "type": application["type"],
        "value": application["value"],
        "code": code,
        "title": title,
        "description": application.get("description") or title,
    }


def split_codes(
    order: Order, rows: Sequence[PricedRow], codes: Sequence[ReadOnlyAttrs]
) -> tuple[list[Attrs], dict[int, ReadOnlyAttrs]]:
    """Return the applied codes with their amounts, and the codes that have no discount application, keyed by index.

    Several codes may have the same name, so each application is matched only once.
    """
    amounts: dict[int, Decimal] = {}
    for row in rows:
        for allocation in row.discount_allocations:
            index = allocation["discount_application_index"]
            amounts[index] = amounts.get(index, ZERO) + Decimal(allocation["amount"])
    unused = {
        index: application["code"]
        for index, application in enumerate(order.discount_applications)
        if application["type"] == "discount_code"
    }
    applied: list[Attrs] = []
    other_codes: dict[int, ReadOnlyAttrs] = {}
    for position, code in enumerate(codes):
        match = next((index for index, name in unused.items() if name == code["code"]), None)
        if match is None:
            other_codes[position] = code
        else:
            del unused[match]
            amount = str(amounts.get(match, ZERO))
            applied.append({"code": code["code"], "amount": amount, "type": code["type"]})
    return applied, other_codes
