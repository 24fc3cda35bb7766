"""Exports: asked for by staff, written by a worker, fetched by the same person until they expire."""

import io
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.api.context import Context
from apps.api.resources.related import TakenRows
from apps.api.rows.plans import plan_for
from apps.api.versions import newest
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.customers import MAX_ADDRESSES, CustomerSerializer
from apps.customers.models import Customer
from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.exchange.domain.cells import Writer
from apps.exchange.kinds import audit_log
from apps.exchange.kinds.tables import CUSTOMER_COLUMNS, ORDER_COLUMNS, customer_row, order_rows
from apps.exchange.models import Export, ExportKind, Format
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.orders.api.orders import OrderSerializer
from apps.orders.api.transactions import TransactionSerializer
from apps.orders.models import Order, Transaction
from apps.staff.models import User

EXPORT, EXPIRE = "orders.export", "orders.expire_export"
LIFETIME = timedelta(days=2)
BATCH = 500
# By kind, the columns that an export can be narrowed by.
FILTERS = {
    ExportKind.ORDERS: ("status", "financial_status"),
    ExportKind.CUSTOMERS: ("state",),
    ExportKind.EVENTS: audit_log.FILTERS,
}
MODELS: dict[ExportKind, Any] = {
    ExportKind.ORDERS: Order,
    ExportKind.CUSTOMERS: Customer,
    ExportKind.EVENTS: Event,
}
COLUMNS = {
    ExportKind.ORDERS: ORDER_COLUMNS,
    ExportKind.CUSTOMERS: CUSTOMER_COLUMNS,
    ExportKind.EVENTS: audit_log.COLUMNS,
}


class WholeCustomerSerializer(CustomerSerializer):
    """A customer with all addresses, where the interface shows ten."""

    addresses = TakenRows(AddressSerializer, "addresses", order=("-updated_at", "-pk"), most=MAX_ADDRESSES)


@transaction.atomic
def start(
    *,
    kind: str,
    format: str,
    filters: dict[str, Any],
    user: User,
    actor: str,
    at: datetime,
) -> Export:
    """Ask for a file of customers, orders or the audit log.

    Args:
        kind: Of ``ExportKind``.
        format: Of ``Format``.
        filters: ``ids``, or columns of ``FILTERS``.
        user: Who gets it.
        actor: The same, for the audit trail.
        at: When.
    """
    known = {name: filters[name] for name in ("ids", *FILTERS[ExportKind(kind)]) if filters.get(name)}
    export = Export(shop=current_shop(), kind=kind, format=format, filters=known, user=user, created_at=at)
    export.save(force_insert=True)
    told = known | ({"ids": len(known["ids"])} if "ids" in known else {})
    record_event("orders/export", export, actor=actor, at=at, changes={"kind": [None, kind], "filters": [None, told]})
    jobs.enqueue(EXPORT, actor=actor, export_id=export.pk)
    return export


def rows_of(export: Export) -> QuerySet[Any, Any]:
    """What the file is to hold, oldest first."""
    filters = dict(export.filters)
    ids = filters.pop("ids", None)
    queryset: QuerySet[Any, Any] = MODELS[ExportKind(export.kind)].objects.filter(**filters)
    return (queryset.filter(pk__in=ids) if ids else queryset).order_by("pk")


def write(job: Job, **arguments: Any) -> None:
    """Write the file; run twice it writes the same file again."""
    export = Export.objects.filter(pk=arguments["export_id"], state=Export.State.WAITING).first()
    if export is None:
        return
    total = rows_of(export).count()
    with tempfile.TemporaryFile() as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        done = 0
        for done in _write(export, text):
            jobs.report_progress(job, done=done, total=total)
        text.flush()
        file.seek(0)
        if default_storage.exists(export.place):
            default_storage.delete(export.place)
        default_storage.save(export.place, File(file))
        text.detach()
    expires_at = timezone.now() + LIFETIME
    with transaction.atomic():
        Export.objects.filter(pk=export.pk).update(state=Export.State.READY, row_count=done, expires_at=expires_at)
        jobs.enqueue(EXPIRE, due_at=expires_at, export_id=export.pk)


def _write(export: Export, file: Any) -> Iterator[int]:
    """Write batch by batch; gives how many rows are done."""
    is_csv = export.format == Format.CSV
    if is_csv:
        # So that spreadsheets know the encoding.
        file.write("\ufeff")
        writer = Writer(file, COLUMNS[ExportKind(export.kind)])
    done = 0
    for batch in _batches(export):
        for shown in batch:
            if not is_csv:
                file.write(orjson.dumps({export.kind[:-1]: shown}).decode() + "\n")
            else:
                for row in _cells(export, shown):
                    writer.write(row)
        done += len(batch)
        yield done


def _cells(export: Export, shown: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """One object as rows of a table."""
    if export.kind == ExportKind.ORDERS:
        return order_rows(shown)
    return [audit_log.cells(shown) if export.kind == ExportKind.EVENTS else customer_row(shown)]


def _batches(export: Export) -> Iterator[list[dict[str, Any]]]:
    """The objects as the interface shows them, by keyset; orders with their transactions."""
    if export.kind == ExportKind.EVENTS:
        yield from audit_log.batches(rows_of(export), BATCH)
        return
    context = Context(export.shop, newest())
    serializer: Any = OrderSerializer if export.kind == ExportKind.ORDERS else WholeCustomerSerializer
    plan, last = plan_for(serializer, newest()), 0
    while True:
        ids = list(rows_of(export).filter(pk__gt=last).values_list("pk", flat=True)[:BATCH])
        if not ids:
            return
        last = ids[-1]
        objects = plan.read_ids(ids, context)
        batch = [objects[pk] for pk in ids if pk in objects]
        if export.kind == ExportKind.ORDERS:
            _complete(batch, context)
        yield batch


def _complete(orders: list[dict[str, Any]], context: Context) -> None:
    """Add what the interface does not show with an order: its transactions, and its exchange rate."""
    rates = dict(Order.objects.filter(pk__in=[order["id"] for order in orders]).values_list("pk", "exchange_rate"))
    by_order: dict[int, list[Any]] = {order["id"]: [] for order in orders}
    rows = Transaction.objects.filter(order_id__in=list(by_order)).order_by("pk")
    for shown in plan_for(TransactionSerializer, newest()).read(rows, context):
        by_order[shown["order_id"]].append(shown)
    for order in orders:
        order["transactions"] = by_order[order["id"]]
        order["exchange_rate"] = format(rates.get(order["id"], Decimal(1)).normalize(), "f")


def give_up(job: Job) -> None:
    """Say that the file will not come."""
    Export.objects.filter(pk=job.arguments["export_id"]).update(state=Export.State.FAILED)


def expire(job: Job, **arguments: Any) -> None:
    """Delete the file of an export whose time is over."""
    export = Export.objects.filter(pk=arguments["export_id"]).first()
    if export is not None:
        default_storage.delete(export.place)
        Export.objects.filter(pk=export.pk).update(state=Export.State.EXPIRED)


def register_all() -> None:
    """Add the tasks."""
    jobs.register(EXPORT, write, on_give_up=give_up)
    jobs.register(EXPIRE, expire)
