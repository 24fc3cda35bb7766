"""Validate the input of draft orders: columns, discounts, the shipping line and the lines."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, TAKEN, at_most, between
from apps.core.money import MAX_AMOUNT, format_plain, has_valid_precision, is_currency
from apps.core.tenancy.currency_conversion import find_presentment
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.lookup import raise_if_being_erased
from apps.customers.models import Customer
from apps.discounts.domain.terms import get_unique_codes
from apps.draft_orders.domain.calculation import (
    FIXED_AMOUNT,
    LINE_COLUMNS,
    PERCENTAGE,
    DraftOrderRefused,
    new_pricing_order,
)
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.domain.create.lines import MAX_QUANTITY, build_lines
from apps.orders.domain.customer_totals import lock_order_customer
from apps.orders.domain.updates import apply_address_changes, clean_order_values

_ORDER_COLUMNS = ("email", "billing_address", "shipping_address", "note", "note_attributes", "tags")
# The columns of a line that a variant determines. Explicit values count only for custom items.
_CUSTOM_COLUMNS = ("title", "sku", "vendor", "grams", "requires_shipping", "taxable")


def get_columns(draft: DraftOrder, attrs: ReadOnlyAttrs, *, locked: bool) -> Attrs:
    """Return the validated columns in ``attrs`` (see ``draft_orders.create_draft_order``).

    If ``locked`` is true, lock a new customer.
    """
    columns, errors = clean_order_values({name: attrs[name] for name in _ORDER_COLUMNS if name in attrs})
    for name in ("billing_address", "shipping_address"):
        if columns.get(name):
            columns[name], part_errors = apply_address_changes(getattr(draft, name), columns[name])
            errors |= _prefix(name, part_errors)
    if columns.get("note_attributes", ()) is None:
        columns["note_attributes"] = []
    if attrs.get("tax_exempt") is not None:
        columns["tax_exempt"] = attrs["tax_exempt"]
    priced, part_errors = _clean_priced_columns(draft, attrs)
    if errors := errors | part_errors:
        raise DraftOrderRefused(errors)
    columns |= priced
    if "customer_id" in attrs or attrs.get("use_customer_default_address"):
        columns |= _get_customer_columns(draft, attrs, columns, locked=locked)
    return columns


def _clean_priced_columns(draft: DraftOrder, attrs: ReadOnlyAttrs) -> tuple[Attrs, Errors]:
    """Return the discount, shipping line, codes and presentment currency in ``attrs``, and the errors."""
    columns: Attrs = {}
    errors: Errors = {}
    if "applied_discount" in attrs:
        discount, part_errors = clean_discount(attrs["applied_discount"], draft.currency)
        columns["applied_discount"] = _keep_calculated(discount, draft.applied_discount, "amount")
        errors |= _prefix("applied_discount", part_errors)
    if "shipping_line" in attrs:
        shipping, part_errors = _clean_shipping(attrs["shipping_line"], draft.currency)
        columns["shipping_line"] = _keep_calculated(shipping, draft.shipping_line, "tax_lines", "discount_allocations")
        errors |= _prefix("shipping_line", part_errors)
    if attrs.get("discount_codes") is not None:
        columns["discount_codes"] = list(get_unique_codes(attrs["discount_codes"]).values())
    if attrs.get("presentment_currency"):
        currencies, part_errors = _clean_currency(draft, attrs["presentment_currency"])
        columns |= currencies
        errors |= part_errors
    return columns, errors


def _prefix(name: str, errors: Errors) -> Errors:
    return {f"{name}.{member}": messages for member, messages in errors.items()}


def _get_customer_columns(draft: DraftOrder, attrs: ReadOnlyAttrs, columns: ReadOnlyAttrs, *, locked: bool) -> Attrs:
    """Return the columns of a customer: the id, a missing email, and the default address if it is requested."""
    customer_id = attrs.get("customer_id", draft.customer_id)
    customer = lock_order_customer(customer_id) if locked else Customer.objects.filter(pk=customer_id).first()
    if customer is None and customer_id is not None:
        raise DraftOrderRefused(INVALID, field="customer.id")
    if customer is not None and customer.pk != draft.customer_id:
        raise_if_being_erased(customer)
    new_columns: Attrs = {"customer_id": customer.pk if customer else None}
    if customer is not None and not (columns.get("email") or draft.email):
        new_columns["email"] = customer.email
    if customer is not None and attrs.get("use_customer_default_address"):
        snapshot = get_default_address(customer)
        for name in ("shipping_address", "billing_address"):
            if snapshot and not columns.get(name):
                new_columns[name] = snapshot
    return new_columns


def _keep_calculated(new: Attrs | None, current: Attrs | None, *names: str) -> Attrs | None:
    """Return the current object if the new one differs only in the calculated members ``names``."""
    if new is None or current is None:
        return new
    return current if new == {**current, **{name: new[name] for name in names}} else new


def get_default_address(customer: Customer) -> Attrs | None:
    address = customer.default_address
    return None if address is None else {name: getattr(address, name) for name in COLUMNS}


def clean_discount(data: ReadOnlyAttrs | None, currency: str) -> tuple[Attrs | None, Errors]:
    """Return a manual discount in the stored format, with an amount of 0, and the errors of its members."""
    if not data:
        return None, {}
    kind = data.get("value_type") or FIXED_AMOUNT
    if kind not in {PERCENTAGE, FIXED_AMOUNT}:
        return None, {"value_type": [NOT_IN_LIST]}
    value = _parse_number(data.get("value"))
    if message := _find_value_error(value, currency, is_percentage=kind == PERCENTAGE):
        return None, {"value": [BLANK if data.get("value") in (None, "") else message]}
    title, description = data.get("title") or "", data.get("description") or ""
    return {
        "title": title or description or "Discount",
        "description": description or title or "Discount",
        "value_type": kind,
        "value": format_plain(value),
        "amount": "0",
    }, {}


def _parse_number(value: object) -> Decimal:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return Decimal("NaN")


def _find_value_error(value: Decimal, currency: str, *, is_percentage: bool) -> str | None:
    if not value.is_finite() or value < 0:
        return INVALID
    if is_percentage:
        return at_most(100) if value > 100 else None
    return None if value < MAX_AMOUNT and has_valid_precision(value, currency) else INVALID


def _clean_shipping(data: ReadOnlyAttrs | None, currency: str) -> tuple[Attrs | None, Errors]:
    if not data:
        return None, {}
    errors: Errors = {}
    price = data.get("price")
    if not data.get("title"):
        errors["title"] = [BLANK]
    if price is None:
        errors["price"] = [BLANK]
    elif not (0 <= price < MAX_AMOUNT and has_valid_precision(price, currency)):
        errors["price"] = [INVALID]
    if errors or price is None:
        return None, errors
    handle = data.get("handle") or None
    row = {"title": data["title"], "handle": handle, "custom": handle is None, "price": format_plain(price)}
    return {**row, "tax_lines": [], "discount_allocations": []}, {}


def _clean_currency(draft: DraftOrder, code: str) -> tuple[Attrs, Errors]:
    """Return the presentment currency with the shop's current rate. An unchanged currency keeps its rate."""
    if code == draft.presentment_currency:
        return {}, {}
    if code == draft.currency:
        return {"presentment_currency": code, "exchange_rate": Decimal(1)}, {}
    presentment = find_presentment(get_current_shop(), code) if is_currency(code) else None
    if presentment is None or not presentment.rate:
        return {}, {"presentment_currency": [NOT_IN_LIST]}
    return {"presentment_currency": code, "exchange_rate": presentment.rate}, {}


def build_draft_lines(
    draft: DraftOrder, rows: Sequence[ReadOnlyAttrs], existing: Sequence[DraftOrderLine] = ()
) -> list[DraftOrderLine]:
    """Return the lines of a draft order, completed from the catalog and not saved or calculated.

    Each row has ``variant_id``, or ``title`` and ``price``. ``id`` refers to an existing line, which keeps its price
    and the other values that the row omits. Imports set ``columns``, the values that the line has in another shop. They
    take precedence over the catalog.

    Raises:
        DraftOrderRefused: Values are invalid.
    """
    by_id = {line.pk: line for line in existing}
    errors = _check_rows(rows, by_id)
    if errors:
        raise DraftOrderRefused(errors)
    values = [_get_line_values(row, by_id.get(row.get("id") or 0)) for row in rows]
    items, errors = build_lines(new_pricing_order(draft), values)
    lines: list[DraftOrderLine] = []
    for index, row in enumerate(rows if not errors else ()):
        line = by_id.get(row.get("id") or 0) or DraftOrderLine(shop=get_current_shop(), draft_order=draft)
        for name in ("position", *LINE_COLUMNS):
            setattr(line, name, getattr(items[index], name))
        if "applied_discount" in row:
            discount, part_errors = clean_discount(row["applied_discount"], draft.currency)
            line.applied_discount = _keep_calculated(discount, line.applied_discount, "amount")
            errors |= _prefix(f"line_items.{index}.applied_discount", part_errors)
        lines.append(line)
    if errors:
        raise DraftOrderRefused(errors)
    return lines


def _check_rows(rows: Sequence[ReadOnlyAttrs], by_id: Mapping[int, DraftOrderLine]) -> Errors:
    errors: Errors = {}
    used: set[int] = set()
    for index, row in enumerate(rows):
        pk, quantity, price = row.get("id"), row.get("quantity"), row.get("price")
        if pk and (pk not in by_id or pk in used):
            errors[f"line_items.{index}.id"] = [TAKEN if pk in used else INVALID]
        if pk:
            used.add(pk)
        if not row.get("variant_id") and row.get("title") and not row["title"].strip():
            errors[f"line_items.{index}.title"] = [BLANK]
        if quantity is not None and not 1 <= quantity <= MAX_QUANTITY:
            errors[f"line_items.{index}.quantity"] = [between(1, MAX_QUANTITY)]
        if price is not None and not 0 <= price < MAX_AMOUNT:
            errors[f"line_items.{index}.price"] = [INVALID]
    return errors


def _get_line_values(row: ReadOnlyAttrs, line: DraftOrderLine | None) -> Attrs:
    """Return the values of a line for ``build_lines``. A variant determines all columns except price and quantity.

    A custom item requires shipping only if the row says so, as existing clients expect.
    """
    variant_id = row.get("variant_id", line.variant_id if line else None)
    current: Attrs = {} if variant_id else {"requires_shipping": False}
    if line is not None and line.variant_id == variant_id:
        current = {name: getattr(line, name) for name in LINE_COLUMNS}
    names = ["price", "quantity", "properties", *(() if variant_id else _CUSTOM_COLUMNS)]
    changed = {name: row[name] for name in names if row.get(name) is not None}
    if "title" in changed:
        current.pop("name", None)
    return {**current, **changed, **row.get("columns", {}), "variant_id": variant_id}
