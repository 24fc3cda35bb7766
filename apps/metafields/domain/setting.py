"""Setting and removing the metafields of an owner."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Model

from apps.events.domain.changes import changes_of
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs, Errors
from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, TAKEN, too_long
from apps.ground.tenancy import current_shop
from apps.metafields.domain import types
from apps.metafields.domain.owners import Owner, owner_named, owner_of
from apps.metafields.models import Metafield

MAX_AT_ONCE = 250
_MAX_LENGTHS = {
    field.name: field.max_length for field in Metafield._meta.concrete_fields if field.editable and field.max_length
}
_OPTIONAL = "description"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadMetafields(DomainError):
    """One or more metafields do not fit."""

    code = "bad_metafields"
    field = "metafields"


class NameTaken(DomainError):
    """The owner has a metafield of that namespace and key."""

    code = "metafield_name_taken"
    field = "key"


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked metafield that is not set yet; the value is the text that is kept of it."""

    namespace: str
    key: str
    type: str
    value: str
    description: str | None = None


def check(data: Mapping[str, object], instance: Metafield | None = None) -> tuple[Attrs, Errors]:
    """Check one metafield as it came.

    Args:
        data: Its members; others than ``namespace key type value description`` are ignored.
        instance: The metafield that is changed; what ``data`` does not name stays.

    Returns:
        The columns to set, and the messages by member.
    """
    values, errors = _check_texts(data, partial=instance is not None)
    kind = values.get("type", instance.type if instance else None)
    if kind is not None and not types.is_type(kind):
        errors["type"] = [NOT_IN_LIST]
    if instance is not None and not data.keys() & {"type", "value"}:
        return values, errors
    value = data.get("value", instance.value if instance else None)
    if value is None or value == "":
        errors["value"] = [BLANK]
    elif kind is not None and "type" not in errors:
        try:
            values["value"] = types.read(kind, value)
        except types.Unfit as error:
            errors["value"] = [str(error)]
    return values, errors


def _check_texts(data: Mapping[str, object], *, partial: bool) -> tuple[Attrs, Errors]:
    values: Attrs = {}
    errors: Errors = {}
    for name, limit in _MAX_LENGTHS.items():
        if name in data:
            value = data[name]
            if name == _OPTIONAL and (value is None or value == ""):
                values[name] = value
            elif messages := _faults(value, limit, optional=name == _OPTIONAL):
                errors[name] = messages
            else:
                values[name] = str(value)
        elif not partial and name != _OPTIONAL:
            errors[name] = [BLANK]
    return values, errors


def _faults(value: object, limit: int, *, optional: bool) -> list[str]:
    """What keeps a value from being a text of at most ``limit`` characters; numbers are taken as their digits."""
    if value is None or (isinstance(value, str) and not optional and not value.strip()):
        return [BLANK]
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return [INVALID]
    if isinstance(value, Decimal) and abs(value.adjusted()) > types.MAX_EXPONENT:
        return [INVALID]
    text = str(value)
    return [*([too_long(limit)] if len(text) > limit else []), *([INVALID] if _UNSTORABLE.search(text) else [])]


def check_many(rows: object, *, prefix: str = "metafields") -> list[Draft]:
    """Check a list of metafields as it came in the body of their owner.

    Raises:
        BadMetafields: ``{"metafields.0.value": [messages]}``, for all that fail.
    """
    if rows is None:
        return []
    if not isinstance(rows, list) or len(rows) > MAX_AT_ONCE:
        raise BadMetafields({prefix: [INVALID]})
    drafts = []
    failed: Errors = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            failed[f"{prefix}.{index}"] = [INVALID]
            continue
        values, errors = check(row)
        failed |= {f"{prefix}.{index}.{name}": messages for name, messages in errors.items()}
        if not errors:
            drafts.append(Draft(**values))
    if failed:
        raise BadMetafields(failed)
    return drafts


def set_many(owner: Model, rows: object, *, actor: str, at: datetime, prefix: str = "metafields") -> list[Metafield]:
    """Give an owner metafields: those it has under the same namespace and key are changed, the others made.

    Args:
        owner: A row of a registered model.
        rows: What ``check_many`` returned, or a list as it came in a body.
        actor: Who.
        at: When.
        prefix: How messages name the list.

    Raises:
        BadMetafields: As ``check_many``.
    """
    drafts = _drafts(rows, prefix) if rows else []
    # Most bodies bring none: no transaction, which within the caller's would be a savepoint to set and to release.
    return _set_drafts(owner, drafts, actor=actor, at=at) if drafts else []


@transaction.atomic
def _set_drafts(owner: Model, drafts: list[Draft], *, actor: str, at: datetime) -> list[Metafield]:
    kind = owner_of(owner)
    of_owner = Metafield.objects.filter(owner_resource=kind.resource, owner_id=owner.pk)
    known = {(row.namespace, row.key): row for row in of_owner.select_for_update().order_by("pk")}
    done = []
    for draft in {(draft.namespace, draft.key): draft for draft in drafts}.values():
        values = {"type": draft.type, "value": draft.value}
        if draft.description is not None:
            values["description"] = draft.description
        row = known.get((draft.namespace, draft.key))
        if row is None:
            row = create(kind, owner.pk, values | {"namespace": draft.namespace, "key": draft.key}, actor=actor, at=at)
        else:
            update(row, values, actor=actor, at=at)
        done.append(row)
    return done


def _drafts(rows: object, prefix: str) -> list[Draft]:
    if isinstance(rows, list) and all(isinstance(row, Draft) for row in rows):
        return rows
    return check_many(rows, prefix=prefix)


@transaction.atomic
def create(kind: Owner, owner_id: int, values: Attrs, *, actor: str, at: datetime) -> Metafield:
    """Give an owner a metafield; ``values`` are checked columns.

    Raises:
        NameTaken: It has one with the namespace and key.
    """
    metafield = Metafield(shop=current_shop(), owner_resource=kind.resource, owner_id=owner_id, created_at=at, **values)
    try:
        with transaction.atomic():
            metafield.save(force_insert=True)
    except IntegrityError as error:
        if breach_of(error) is None:
            raise
        raise NameTaken(TAKEN) from error
    record_event(f"{kind.topics}/create", metafield, actor=actor, at=at)
    return metafield


@transaction.atomic
def update(metafield: Metafield, values: Attrs, *, actor: str, at: datetime) -> None:
    """Change a metafield in place; ``values`` are checked columns. Nothing happens where nothing differs."""
    kind = _kind_of(metafield)
    changes = changes_of(metafield, values, personal=values if kind.personal else ())
    if not changes:
        return
    for name, value in values.items():
        setattr(metafield, name, value)
    metafield.save(update_fields=list(changes))
    record_event(f"{kind.topics}/update", metafield, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete(metafield: Metafield, *, actor: str, at: datetime) -> None:
    """Take a metafield away from its owner."""
    record_event(f"{_kind_of(metafield).topics}/delete", metafield, actor=actor, at=at)
    metafield.delete()


def _kind_of(metafield: Metafield) -> Owner:
    owner = owner_named(metafield.owner_resource)
    if owner is None:
        raise LookupError(f"{metafield.owner_resource!r} owns no metafields")
    return owner
