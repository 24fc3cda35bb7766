"""Rows that metafields refer to; those of one body are looked up together, for it may name thousands."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from django.conf import settings

from apps.metafields.domain.owners import Owner

_AT_ONCE = 5_000


@dataclass(slots=True)
class _Body:
    """By the resource's name in global ids: the ids that a body names, and those of them that exist."""

    named: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    found: dict[str, set[int]] = field(default_factory=dict)


_body: ContextVar[_Body | None] = ContextVar("metafields_body", default=None)


@contextmanager
def together(rows: object) -> Iterator[None]:
    """Within, the references that stand anywhere in some values take one query for each resource.

    Inside of another one nothing begins anew: the values are part of that one's.
    """
    if _body.get() is not None:
        yield
        return
    token = _body.set(_Body(_named_in(rows)))
    try:
        yield
    finally:
        _body.reset(token)


def exists(owner: Owner, pk: int) -> bool:
    """Whether the shop has such a row."""
    body = _body.get()
    if body is None or pk not in body.named[owner.gid]:
        return owner.model._default_manager.order_by().filter(pk=pk).exists()
    if owner.gid not in body.found:
        rows = owner.model._default_manager.order_by()
        named = sorted(body.named[owner.gid])
        parts = (named[start : start + _AT_ONCE] for start in range(0, len(named), _AT_ONCE))
        body.found[owner.gid] = {
            found for part in parts for found in rows.filter(pk__in=part).values_list("pk", flat=True)
        }
    return pk in body.found[owner.gid]


def _named_in(rows: object) -> dict[str, set[int]]:
    """The global ids in all texts of some values, however these nest."""
    pattern = re.compile(rf"gid://{re.escape(settings.BRAND)}/(\w+)/([1-9][0-9]{{0,18}})(?![0-9])", re.ASCII)
    named: dict[str, set[int]] = defaultdict(set)
    pending = [rows]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if "\\" in value:
                # JSON may write each character in other ways, too.
                with suppress(ValueError, RecursionError):
                    pending.append(json.loads(value))
            for gid, digits in pattern.findall(value):
                if int(digits) < 2**63:
                    named[gid].add(int(digits))
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return named
