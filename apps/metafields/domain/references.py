"""Check in batches that referenced rows exist, because a request body can contain thousands of references."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from django.conf import settings

from apps.metafields.domain.owners import OwnerType

_BATCH_SIZE = 5_000


@dataclass(slots=True)
class _Body:
    """The IDs that a request body refers to and the IDs that exist, both keyed by global ID type."""

    referenced_ids: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    existing_ids: dict[str, set[int]] = field(default_factory=dict)


_body: ContextVar[_Body | None] = ContextVar("metafields_body", default=None)


@contextmanager
def batch_references(rows: object) -> Iterator[None]:
    """While the context is active, look up all references in ``rows`` with one query per resource.

    A nested call does nothing, because the outer call already covers its rows.
    """
    if _body.get() is not None:
        yield
        return
    token = _body.set(_Body(_find_global_ids(rows)))
    try:
        yield
    finally:
        _body.reset(token)


def reference_exists(owner: OwnerType, pk: int) -> bool:
    body = _body.get()
    if body is None or pk not in body.referenced_ids[owner.gid]:
        return owner.model._default_manager.order_by().filter(pk=pk).exists()
    if owner.gid not in body.existing_ids:
        rows = owner.model._default_manager.order_by()
        ids = sorted(body.referenced_ids[owner.gid])
        parts = (ids[start : start + _BATCH_SIZE] for start in range(0, len(ids), _BATCH_SIZE))
        body.existing_ids[owner.gid] = {
            row_id for part in parts for row_id in rows.filter(pk__in=part).values_list("pk", flat=True)
        }
    return pk in body.existing_ids[owner.gid]


def _find_global_ids(rows: object) -> dict[str, set[int]]:
    """Return the IDs from all global IDs in nested values, grouped by type."""
    pattern = re.compile(rf"gid://{re.escape(settings.BRAND)}/(\w+)/([1-9][0-9]{{0,18}})(?![0-9])", re.ASCII)
    ids_by_resource: dict[str, set[int]] = defaultdict(set)
    pending = [rows]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if "\\" in value:
                # Parse JSON strings, because they may contain global IDs with escaped characters.
                with suppress(ValueError, RecursionError):
                    pending.append(json.loads(value))
            for gid, digits in pattern.findall(value):
                if int(digits) < 2**63:
                    ids_by_resource[gid].add(int(digits))
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return ids_by_resource
