"""Create, update and delete the metafields of an owner."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Model

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import EventInput, apply_changes, record_event, record_events
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, TAKEN, too_long, too_many
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors
from apps.metafields.domain import references, types
from apps.metafields.domain.owners import OwnerType, get_owner_type_of_row, lock_owners, owner_types
from apps.metafields.domain.scalar_types import MAX_EXPONENT, InvalidValue
from apps.metafields.models import Metafield

MAX_PER_BODY = 250
# The maximum total number of metafields in a body's nested resources, such as variants and images.
MAX_NESTED = 1_000
_MAX_LENGTHS = {
    field.name: field.max_length for field in Metafield._meta.concrete_fields if field.editable and field.max_length
}
_OPTIONAL = "description"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadMetafields(DomainError):
    field = "metafields"


class NameTaken(DomainError):
    """Raised when the owner already has a metafield with this namespace and key."""

    field = "key"


class IdTaken(DomainError):
    """Raised when another owner already has a value of type ``id``. These values are unique per owner type."""

    field = "value"


@dataclass(frozen=True, slots=True)
class MetafieldInput:
    """A validated metafield that is not saved yet. ``value`` is the text to store."""

    namespace: str
    key: str
    type: str
    value: str
    description: str | None = None


def validate_metafield(data: Mapping[str, object], instance: Metafield | None = None) -> tuple[Attrs, Errors]:
    """Validate the members of a metafield in a request body. Return the columns to set, and errors keyed by member.

    Unknown members are ignored. Older clients send ``value_type`` instead of ``type``. If there is a metafield to
    update, missing members stay unchanged.
    """
    if "value_type" in data and "type" not in data:
        data = {**data, "type": data["value_type"]}
    values, errors = _check_texts(data, partial=instance is not None)
    if "type" in values and (instance is None or values["type"] != instance.type):
        values["type"] = types.get_successor_type(
            values["type"], data.get("value", instance.value if instance else None)
        )
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
            values["value"] = types.read_value(kind, value)
        except InvalidValue as error:
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
            elif messages := _find_text_errors(value, limit, optional=name == _OPTIONAL):
                errors[name] = messages
            else:
                values[name] = str(value)
        elif not partial and name != _OPTIONAL:
            errors[name] = [BLANK]
    return values, errors


def _find_text_errors(value: object, limit: int, *, optional: bool) -> list[str]:
    if value is None or (isinstance(value, str) and not optional and not value.strip()):
        return [BLANK]
    is_huge = isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT
    if is_huge or isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return [INVALID]
    text = str(value)
    return [*([too_long(limit)] if len(text) > limit else []), *([INVALID] if _UNSTORABLE.search(text) else [])]


def validate_metafields(rows: object, *, prefix: str = "metafields") -> list[MetafieldInput]:
    """Validate a list of metafields in the request body of their owner.

    Raises:
        BadMetafields: The error lists all problems as ``{"metafields.0.value": [messages]}``.
    """
    if rows is None or rows == "":
        return []
    if not isinstance(rows, list):
        raise BadMetafields({prefix: [INVALID]})
    if len(rows) > MAX_PER_BODY:
        raise BadMetafields({prefix: [too_many("metafields", MAX_PER_BODY)]})
    drafts = []
    failed: Errors = {}
    with references.batch_references(rows):
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                failed[f"{prefix}.{index}"] = [INVALID]
                continue
            values, errors = validate_metafield(row)
            failed |= {f"{prefix}.{index}.{name}": messages for name, messages in errors.items()}
            if not errors:
                drafts.append(MetafieldInput(**values))
    if failed:
        raise BadMetafields(failed)
    return drafts


def set_metafields(owner: Model, rows: object, *, actor: str, at: datetime) -> list[Metafield]:
    """Create metafields of an owner, or update existing metafields with the same namespace and key.

    ``rows`` is the result of ``validate_metafields``, or a list from a request body. Return the created and changed
    metafields. Metafields that already had the new values are omitted.

    Raises:
        BadMetafields: See ``validate_metafields``.
    """
    # Most bodies contain no metafields. Return early to avoid the savepoint of a nested transaction.
    if not rows:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, MetafieldInput) for row in rows):
        rows = validate_metafields(rows)
    return set_metafields_of_owners([(owner, rows)], actor=actor, at=at)


@transaction.atomic
def set_metafields_of_owners(
    drafts_by_owner: Sequence[tuple[Model, Sequence[MetafieldInput]]], *, actor: str, at: datetime
) -> list[Metafield]:
    """Set metafields of several owners of one type. The number of SQL statements is the same as for one owner."""
    if not drafts_by_owner:
        return []
    kind = get_owner_type_of_row(drafts_by_owner[0][0])
    lock_owners(kind, [owner.pk for owner, _ in drafts_by_owner])
    current_rows = Metafield.objects.filter(
        owner_resource=kind.resource, owner_id__in=[owner.pk for owner, _ in drafts_by_owner]
    )
    existing = {(row.owner_id, row.namespace, row.key): row for row in current_rows.select_for_update().order_by("pk")}
    events: list[EventInput] = []
    changed_rows: list[Metafield] = []
    columns = set[str]()
    owners = {owner.pk: owner for owner, _ in drafts_by_owner}
    # Of several drafts with the same owner, namespace and key, only the last counts.
    last_drafts = {
        (owner.pk, draft.namespace, draft.key): draft for owner, drafts in drafts_by_owner for draft in drafts
    }
    for (owner_id, namespace, key), draft in last_drafts.items():
        values = {"type": draft.type, "value": draft.value}
        if draft.description is not None:
            values["description"] = draft.description
        row = existing.get((owner_id, namespace, key))
        if row is None:
            row = _build_metafield(kind, owner_id, values | {"namespace": namespace, "key": key}, at)
            events.append(EventInput(f"{kind.topic_prefix}/create", row))
        elif changes := apply_changes(row, values, personal=values if kind.is_personal else ()):
            columns |= changes.keys()
            events.append(EventInput(f"{kind.topic_prefix}/update", row, changes))
        else:
            continue
        row.history_owner, row.is_personal = owners[owner_id], kind.is_personal
        changed_rows.append(row)
    try:
        with _translate_constraint_errors():
            Metafield.objects.bulk_update([row for row in changed_rows if row.pk], sorted(columns))
            Metafield.objects.bulk_create([row for row in changed_rows if not row.pk])
    except IdTaken as error:
        raise BadMetafields({f"metafields.{_find_taken_index(kind, drafts_by_owner)}.value": [TAKEN]}) from error
    record_events(events, actor=actor, at=at)
    return changed_rows


def _find_taken_index(kind: OwnerType, drafts_by_owner: Sequence[tuple[Model, Sequence[MetafieldInput]]]) -> int:
    """Return the index, in its owner's list, of the first draft of type ``id`` with another owner's value."""
    ids = [draft for _, drafts in drafts_by_owner for draft in drafts if draft.type == "id"]
    existing = Metafield.objects.filter(
        owner_resource=kind.resource, type="id", value__in={draft.value for draft in ids}
    )
    owner_by_value: dict[tuple[str, str, str], int] = {
        (namespace, key, value): owner_id
        for namespace, key, value, owner_id in existing.values_list("namespace", "key", "value", "owner_id")
    }
    for owner, drafts in drafts_by_owner:
        for index, draft in enumerate(drafts):
            name = (draft.namespace, draft.key, draft.value)
            if draft.type == "id" and owner_by_value.setdefault(name, owner.pk) != owner.pk:
                return index
    return 0


@contextmanager
def _translate_constraint_errors() -> Iterator[None]:
    """Convert errors of unique constraints to domain errors. A savepoint keeps the outer transaction usable."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise _to_domain_error(error) from error


@transaction.atomic
def create_metafield(kind: OwnerType, owner_id: int, values: Attrs, *, actor: str, at: datetime) -> Metafield:
    """Create a metafield for an owner. ``values`` must be validated.

    Raises:
        RowDeleted: The owner was deleted.
        NameTaken: The owner already has a metafield with the namespace and key.
        IdTaken: The type is ``id``, and another owner of the same type already has the value.
    """
    lock_owners(kind, [owner_id])
    metafield = _build_metafield(kind, owner_id, values, at)
    with _translate_constraint_errors():
        metafield.save(force_insert=True)
    record_event(f"{kind.topic_prefix}/create", metafield, actor=actor, at=at)
    return metafield


def _build_metafield(kind: OwnerType, owner_id: int, values: Attrs, at: datetime) -> Metafield:
    shop = get_current_shop()
    return Metafield(shop=shop, owner_resource=kind.resource, owner_id=owner_id, created_at=at, **values)


@transaction.atomic
def update_metafield(metafield: Metafield, values: Attrs, *, actor: str, at: datetime) -> None:
    """Update a metafield with validated ``values``.

    Raises:
        RowDeleted: The metafield was deleted.
        IdTaken: The type is ``id``, and another owner of the same type already has the value.
    """
    refresh_for_update(metafield, no_key=True)
    kind = owner_types[metafield.owner_resource]
    changes = apply_changes(metafield, values, personal=values if kind.is_personal else ())
    if changes:
        with _translate_constraint_errors():
            metafield.save(update_fields=list(changes))
        record_event(f"{kind.topic_prefix}/update", metafield, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_metafield(metafield: Metafield, *, actor: str, at: datetime) -> None:
    """Delete a metafield. Raise ``RowDeleted`` if it is already deleted."""
    refresh_for_update(metafield)
    record_event(f"{owner_types[metafield.owner_resource].topic_prefix}/delete", metafield, actor=actor, at=at)
    metafield.delete()


def _to_domain_error(error: IntegrityError) -> Exception:
    """Return the domain error for a violated constraint, or the original error if no constraint was violated."""
    breach = find_violated_constraint(error)
    if breach is None:
        return error
    return IdTaken(TAKEN) if breach.field == IdTaken.field else NameTaken(TAKEN)
