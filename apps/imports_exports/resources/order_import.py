"""Import orders in batches. Orders are identified by their number or id in the source system.

Each step handles all orders of a batch: parse and price orders, match or create customers, number and insert orders.
Orders that also change other rows, such as stock, are imported alone (``must_be_alone``).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import AMOUNT, Amount, define_message, define_text
from apps.core.money import format_decimal
from apps.customers.domain.lookup import ContactsDisagree
from apps.imports_exports.domain.rows import Body, ImportRow, RowOutcome, RowRefused, RowResult, create_failed_outcome
from apps.imports_exports.models import ImportedRow
from apps.imports_exports.resources.cells import name_values
from apps.imports_exports.resources.exported_orders.state import is_exported_order
from apps.imports_exports.resources.order_bodies import (
    KnownRows,
    has_fulfillments,
    parse_file_moment,
    parse_new_order,
)
from apps.imports_exports.resources.privacy import hash_source_key
from apps.orders.domain import transitions
from apps.orders.domain.create import lines as draft_lines
from apps.orders.domain.create import orders as create
from apps.orders.domain.create.customers import OrderCustomerRefused
from apps.orders.domain.create.drafts import OrderDraft, build_order
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.models import Order

_ALREADY_IMPORTED = define_text("order_imports.already_imported", "was already imported")
_NAME_TAKEN = define_message("order_imports.name_taken", "the name {name} is already taken")

# The batches are small because the shop's order counter is locked while a batch is inserted.
BATCH_SIZE = 50
_PREFIX = "order:"


def get_order_key(row: ImportRow, body: Body) -> str:
    """Return the key that identifies an order within a file and in later files."""
    for name in ("source_identifier", "id", "name"):
        value = body.get(name)
        if isinstance(value, str | int) and value and not isinstance(value, bool):
            return f"{_PREFIX}{value}"[:300]
    return f"{_PREFIX}{row.digest}"


def must_be_alone(body: Body) -> bool:
    """Return True for an order that changes stock, is scheduled, or has a cancellation that could be refused."""
    if body.get("inventory_behaviour") not in (None, "", Order.InventoryBehaviour.BYPASS):
        return True
    return bool(
        body.get("fulfill_at")
        or (_is_cancelled_by_import(body) and (has_fulfillments(body) or not _has_valid_cancelled_at(body)))
    )


def _import_order(row: ImportRow, body: Body, *, actor: str, at: datetime) -> RowOutcome:
    """Import an order, unless an earlier import created it and it still exists."""
    key = get_order_key(row, body)
    earlier = _find_earlier_imports({key: body}).get(key)
    if earlier is not None and earlier.order_exists:
        return _create_skipped(earlier)
    if earlier is not None:
        _clear_source_keys([earlier])
    try:
        attrs, parts = parse_new_order(body, key.removeprefix(_PREFIX), KnownRows.load([body]), at=at)
        order = create.create_order(attrs, parts, actor=actor, at=at)
    except (OrderRefused, OrderCustomerRefused) as error:
        raise _get_staff_error(error, body) from None
    if _is_cancelled_by_import(body):
        _cancel_order(order, body, actor=actor)
    return _create_new_outcome(order, attrs.get("name", ""), len(parts.lines), key)


def import_orders(rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[RowOutcome]:
    """Import several orders with one lookup and bulk inserts."""
    if len(rows) == 1:
        return [_import_order(*rows[0], actor=actor, at=at)]
    keys = [get_order_key(row, body) for row, body in rows]
    before = _find_earlier_imports({key: body for key, (_, body) in zip(keys, rows, strict=True)})
    imported = {index: before[key] for index, key in enumerate(keys) if key in before and before[key].order_exists}
    outcomes = {index: _create_skipped(earlier) for index, earlier in imported.items()}
    drafts: dict[int, OrderDraft] = {}
    bodies = {index: body for index, (_, body) in enumerate(rows) if index not in outcomes}
    for index, draft_or_error in _create_drafts(bodies, keys, at=at).items():
        if isinstance(draft_or_error, OrderDraft):
            drafts[index] = draft_or_error
        else:
            outcomes[index] = create_failed_outcome(_get_staff_error(draft_or_error, bodies[index]))
    errors: list[DomainError | None] = []
    if drafts:
        new = list(drafts.values())
        errors = create.preview_orders(new, at=at) if dry else create.create_orders(new, actor=actor, at=at)
    for index, error in zip(drafts, errors, strict=True):
        draft = drafts[index]
        outcomes[index] = (
            _create_new_outcome(draft.order, draft.name, len(draft.lines), keys[index])
            if error is None
            else create_failed_outcome(_get_staff_error(error, bodies[index]))
        )
    if not dry:
        new_indexes = [index for index in drafts if outcomes[index].result == RowResult.NEW]
        _clear_source_keys([before[keys[index]] for index in new_indexes if keys[index] in before])
        for index in new_indexes:
            if _is_cancelled_by_import(rows[index][1]):
                _cancel_order(drafts[index].order, rows[index][1], actor=actor)
    return [outcomes[index] for index in range(len(rows))]


class _EarlierImport(NamedTuple):
    """The row result of an earlier import of an order, and whether the order still exists."""

    row: ImportedRow
    order_exists: bool


def _find_earlier_imports(bodies: Mapping[str, Body]) -> dict[str, _EarlierImport]:
    """Return the earlier imports of orders, keyed by order key like ``bodies``. Other orders are omitted."""
    key_by_source_key = {source_key: key for key in bodies for source_key in (key, hash_source_key(key))}
    key_by_name_key = _get_name_keys(bodies)
    wanted = [*key_by_source_key, *key_by_name_key]
    rows = ImportedRow.objects.filter(source_key__in=wanted, dry=False, fate=RowResult.NEW).order_by("pk")
    first_rows: dict[str, ImportedRow] = {}
    rows_by_name: dict[str, ImportedRow] = {}
    for row in rows:
        if row.source_key in key_by_source_key:
            first_rows.setdefault(key_by_source_key[row.source_key], row)
        else:
            rows_by_name.setdefault(key_by_name_key[row.source_key], row)
    if not first_rows and not rows_by_name:
        return {}
    names = {row.label for row in (*first_rows.values(), *rows_by_name.values())}
    existing = dict(Order.objects.filter(name__in=names).values_list("name", "created_at"))
    earlier = {key: _EarlierImport(row, row.label in existing) for key, row in first_rows.items()}
    for key, row in rows_by_name.items():
        if key not in earlier and _has_created_at(bodies[key], existing.get(row.label)):
            earlier[key] = _EarlierImport(row, order_exists=True)
    return earlier


def _get_name_keys(bodies: Mapping[str, Body]) -> dict[str, str]:
    """Return the keys that orders with an id had in files without ids: their names.

    Orders with the same name from different shops differ in ``created_at``.
    """
    keys: dict[str, str] = {}
    for key, body in bodies.items():
        name_key = _get_key_of_name(body.get("name"))
        if name_key and name_key not in bodies and body.get("source_identifier") and body.get("created_at"):
            keys |= {name_key: key, hash_source_key(name_key): key}
    return keys


def _get_key_of_name(name: object) -> str:
    return f"{_PREFIX}{name}"[:300] if isinstance(name, str) and name else ""


def _has_created_at(body: Body, moment: datetime | None) -> bool:
    if moment is None:
        return False
    try:
        return parse_file_moment(body["created_at"], "created_at") == moment
    except OrderRefused:
        return False


def _create_skipped(earlier: _EarlierImport) -> RowOutcome:
    return RowOutcome(RowResult.SKIPPED, earlier.row.label, _ALREADY_IMPORTED)


def _clear_source_keys(earlier_imports: Sequence[_EarlierImport]) -> None:
    """Remove the source keys of deleted orders, so that the orders can be imported again."""
    if earlier_imports:
        ImportedRow.objects.filter(pk__in=[earlier.row.pk for earlier in earlier_imports]).update(source_key="")


def _create_drafts(
    bodies: dict[int, Body], keys: Sequence[str], *, at: datetime
) -> dict[int, OrderDraft | DomainError]:
    """Return a priced draft of each order, or the error if the order is invalid."""
    known = KnownRows.load(bodies.values())
    results: dict[int, OrderDraft | DomainError] = {}
    parsed = {}
    for index, body in bodies.items():
        try:
            parsed[index] = parse_new_order(body, keys[index].removeprefix(_PREFIX), known, at=at)
        except DomainError as error:
            results[index] = error
    catalog = draft_lines.load_catalog_rows(line for _, parts in parsed.values() for line in parts.lines)
    for index, (attrs, parts) in parsed.items():
        try:
            results[index] = build_order(attrs, parts, at=at, catalog_rows=catalog)
        except DomainError as error:
            results[index] = error
    return dict(sorted(results.items()))


def _get_staff_error(error: DomainError, body: Body) -> DomainError:
    """Return the error for staff, with the invalid values of the order.

    It may name the customers that an email address or phone number belongs to.
    """
    cause = error.__cause__
    if isinstance(error, OrderCustomerRefused) and isinstance(cause, ContactsDisagree):
        return cause
    return RowRefused(name_values(error.errors, body)) if isinstance(error, OrderRefused) else error


def _create_new_outcome(order: Order, name: str, lines: int, key: str) -> RowOutcome:
    reason = None if name in {"", order.name} else _NAME_TAKEN(name=name)
    # The preview shows the name in the file or the identifier, because a new order has no number yet.
    customer = order.email or order.phone or (order.customer or "")
    total = AMOUNT(amount=Amount(format_decimal(order.total_price, order.currency), order.currency))
    values = {"order": name or order.source_identifier, "buyer": str(customer), "lines": lines, "total_price": total}
    changes = {field: (None, value) for field, value in values.items()}
    return RowOutcome(RowResult.NEW, order.name, reason, source_key=key, changes=changes)


def _is_cancelled_by_import(body: Body) -> bool:
    """Return True if the import creates the order and then cancels it. An exported order already has its result."""
    return bool(body.get("cancelled_at")) and not is_exported_order(body)


def _has_valid_cancelled_at(body: Body) -> bool:
    try:
        parse_file_moment(body["cancelled_at"], "cancelled_at")
    except OrderRefused:
        return False
    return True


def _cancel_order(order: Order, body: Body, *, actor: str) -> None:
    reason = body.get("cancel_reason")
    transitions.cancel_order(
        order,
        actor=actor,
        at=min(parse_file_moment(body["cancelled_at"], "cancelled_at"), timezone.now()),
        reason=reason if reason in Order.CancelReason.values else Order.CancelReason.OTHER,
        restock=body.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED,
    )
