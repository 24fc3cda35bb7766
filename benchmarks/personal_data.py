"""Measure the time and memory for the data export and the erasure of a customer with many orders.

The command needs a separate migrated database: ``python -m benchmarks.personal_data --orders 20000``.
"""

import argparse
import io
import os
import resource
import time
from collections.abc import Iterable
from typing import Any

import django


def main() -> None:
    """Create the data, export and erase the customer's data, and print the time and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20_000)
    number: int = parser.parse_args().orders
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    django.setup()
    from django.core.management import call_command

    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope

    domain = f"person-{time.time_ns()}.example"
    call_command("create_shop", domain)
    with shop_scope(Shop.objects.get(domain=domain)):
        _measure(number)


def _measure(number: int) -> None:
    from django.utils import timezone

    from apps.core.jobs import queue
    from apps.core.jobs.models import Job
    from apps.core.tenancy.models import Shop
    from apps.customers.domain import erasure
    from apps.customers.models import Customer
    from apps.imports_exports.domain.files import ExportCheckpoint
    from apps.imports_exports.models import Export
    from apps.imports_exports.resources.privacy import PERSONAL_DATA

    _fill(number)
    customer = Customer.objects.get()
    assert PERSONAL_DATA.exporter is not None
    assert PERSONAL_DATA.exporter.document is not None
    export = Export(shop=Shop.objects.get(pk=customer.shop_id), kind=PERSONAL_DATA.name, filters={"ids": [customer.pk]})
    before = _memory()
    began = time.monotonic(), time.process_time()
    with io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8") as file:
        for _ in PERSONAL_DATA.exporter.document.write(export, file, ExportCheckpoint()):
            pass
    _tell("exported", number, began, before)
    before = _memory()
    began = time.monotonic(), time.process_time()
    assert not erasure.erase_customer(customer, actor="system", at=timezone.now())
    job = Job.objects.get(task=erasure.ERASE_TASK)
    queue.run_job(job.key)
    _tell("erased", number, began, before)
    customer.refresh_from_db()
    assert customer.redacted_at is not None


def _fill(number: int) -> None:
    """Create an order, and copy the order with its line items and events."""
    from decimal import Decimal

    from django.utils import timezone

    from apps.core.events.models import Event
    from apps.orders.domain.create import orders as create
    from apps.orders.domain.create.drafts import OrderParts
    from apps.orders.models import LineItem, Order

    index = {"address1": "1 Main Street", "city": "Ottawa", "country": "Canada", "country_code": "CA"}
    values = {"email": "ada@example.com", "shipping_address": index, "billing_address": index}
    parts = OrderParts(lines=[{"title": "Mug", "price": Decimal(10), "quantity": 1}] * 2)
    new_order = create.create_order(values, parts, actor="system", at=timezone.now())
    orders = [_copy(new_order, name=f"#C{n}", number=1000 + n, order_number=2000 + n) for n in range(2, number + 1)]
    stored_orders: list[Any] = Order.objects.bulk_create(orders, batch_size=500)
    lines, events = list(LineItem.objects.filter(order=new_order)), list(Event.objects.filter(subject_id=new_order.pk))
    for start in range(0, len(stored_orders), 500):
        sample = stored_orders[start : start + 500]
        LineItem.objects.bulk_create([_copy(line, order_id=order.pk) for order in sample for line in lines])
        Event.objects.bulk_create([_copy(event, subject_id=order.pk) for order in sample for event in events])


def _copy(row: Any, **values: object) -> Any:
    from apps.core.models import get_column_values

    column_values = get_column_values(row) | values
    names: Iterable[str] = {field.attname for field in row._meta.concrete_fields}
    unique = {field.attname: field.get_default() for field in row._meta.concrete_fields if field.unique}
    saved_values = {name: value for name, value in (column_values | unique).items() if name in names}
    saved_values.pop(row._meta.pk.attname)
    return type(row)(**saved_values)


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _tell(what: str, number: int, began: tuple[float, float], before: int) -> None:
    seconds, own = time.monotonic() - began[0], time.process_time() - began[1]
    print(
        f"{what}: {number} orders in {seconds:.1f} s ({own:.1f} s of CPU time in this process),"
        f" memory {before} MB before, peak {_memory()} MB"
    )


if __name__ == "__main__":
    main()
