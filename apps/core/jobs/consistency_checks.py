"""Nightly consistency checks of derived data. Apps register them in ``periodic.py``.

The checks report differences but do not repair them, because a repair would hide the bug that caused a difference. One
check belongs to the kit: no row refers to a row of another shop, which would mean that a shop scope has failed.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice

from django.apps import apps
from django.db import connection, transaction
from django.db.models import F, ForeignKey, Model
from django.utils import timezone

from apps.core.registry import Registry
from apps.core.tenancy.scope import all_shops_scope
from apps.core.tenancy.shop_owned import ShopOwned

# The maximum number of reported rows per foreign key. More rows would only show the same bug again.
_MAX_REPORTED = 100
# The maximum number of reported differences per check, so that they fit into memory.
_MAX_DIFFERENCES = 10_000


def find_cross_shop_references() -> Iterator[str]:
    """Yield a sentence for each row that refers to a row of another shop."""
    for model in apps.get_models():
        if issubclass(model, ShopOwned) and not model._meta.proxy:
            for field in model._meta.local_fields:
                if isinstance(field, ForeignKey) and issubclass(field.related_model, ShopOwned):
                    yield from _check_foreign_key(model, field)


def _check_foreign_key(model: type[Model], field: "ForeignKey[Model, Model]") -> Iterator[str]:
    rows = (
        model._default_manager.exclude(**{f"{field.name}__shop_id": F("shop_id")})
        .filter(**{f"{field.name}__shop_id__isnull": False})
        .order_by("pk")
        .values_list("shop_id", "pk", field.attname, f"{field.name}__shop_id")
    )
    for shop, pk, target, target_shop in rows[:_MAX_REPORTED]:
        yield f"shop {shop}, {model._meta.db_table} {pk}: its {field.name} {target} belongs to shop {target_shop}"


logger = logging.getLogger(__name__)

Check = Callable[[], Iterable[str]]
NightlyCheck = Callable[[datetime], Iterable[str]]
# Functions that yield a sentence for each difference. The sentence names the shop and the row. A check can read the
# rows of all shops and must not write.
consistency_checks = Registry[str, Check]("consistency checks")
# Variants of slow checks that read a share of the rows, so that a few weeks of nights read all of them.
nightly_checks = Registry[str, NightlyCheck]("nightly consistency checks")
# What operators can do about the differences of each check, in one or two sentences.
advice = Registry[str, str]("advice of consistency checks")


def register_check(name: str, check: Check, what_to_do: str, *, nightly: NightlyCheck | None = None) -> None:
    """Register a check with the advice that follows each of its differences.

    At night, ``nightly`` runs with the time of the night instead of the check.
    """
    consistency_checks.register(name, check)
    if nightly is not None:
        nightly_checks.register(name, nightly)
    advice.register(name, what_to_do)


def find_differences(only: Collection[str] | None = None, *, night: datetime | None = None) -> Iterator[str]:
    """Yield the differences that all checks or the named checks find. Each check reads from one database snapshot.

    With ``night``, slow checks read only the rows that are due in this night.
    Of each check, the first differences are yielded, and the number of the others.
    """
    for name, check in consistency_checks.items():
        if only is None or name in only:
            with all_shops_scope(), _snapshot():
                found = iter(check() if night is None or name not in nightly_checks else nightly_checks[name](night))
                sentences = list(islice(found, _MAX_DIFFERENCES))
                others = sum(1 for _ in found)
            yield from (f"{name}: {sentence}. {advice.get(name, '')}".rstrip() for sentence in sentences)
            if others:
                yield f"{name}: {others} more differences. Correct the listed differences first, then check again."


def log_differences() -> int:
    sentences = list(find_differences(night=timezone.now()))
    for difference in sentences:
        logger.error("Reconciliation: %s", difference)
    logger.info("Reconciliation: %d checks, %d differences", len(consistency_checks), len(sentences))
    return len(sentences)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read from a database snapshot and reject writes. Inside an open transaction, this has no effect."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            yield
    else:
        # Begin a deferred transaction, because an immediate or exclusive transaction would block all writers.
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
