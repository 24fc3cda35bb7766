"""Setting and removing the metafields of an owner."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Model

from apps.events.domain.changes import assign
from apps.events.domain.recording import Happening, record_event, record_events
from apps.ground.attrs import Attrs, Errors
from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError
from apps.ground.locks import reread
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, TAKEN, too_long
from apps.ground.tenancy import current_shop
from apps.metafields.domain import references, types
from apps.metafields.domain.elements import MAX_EXPONENT, Unfit
from apps.metafields.domain.owners import Owner, hold_owners, owner_named, owner_of
from apps.metafields.models import Metafield

MAX_AT_ONCE = 250
# Of all parts of a body together, such as variants and images.
MAX_OF_PARTS = 1_000
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


class IdTaken(DomainError):
    """Another owner of the kind has the value; those of type ``id`` are given once."""

    code = "metafield_id_taken"
    field = "value"


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
        data: Its members; others than ``namespace key type value description`` are ignored. Older clients say
            ``value_type`` for ``type``.
        instance: The metafield that is changed; what ``data`` does not name stays.

    Returns:
        The columns to set, and the messages by member.
    """
    if "value_type" in data and "type" not in data:
        data = {**data, "type": data["value_type"]}
    values, errors = _check_texts(data, partial=instance is not None)
    if "type" in values and (instance is None or values["type"] != instance.type):
        values["type"] = types.successor(values["type"], data.get("value", instance.value if instance else None))
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
        except Unfit as error:
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
    if isinstance(value, Decimal) and abs(value.adjusted()) > MAX_EXPONENT:
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
    with references.together(rows):
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

    Returns:
        Those that were made or changed; what they were already is left alone.

    Raises:
        BadMetafields: As ``check_many``.
    """
    drafts = _drafts(rows, prefix) if rows else []
    # Most bodies bring none: no transaction, which within the caller's would be a savepoint to set and to release.
    return set_of_each([(owner, drafts)], actor=actor, at=at, prefix=prefix) if drafts else []


@transaction.atomic
def set_of_each(
    wanted: Sequence[tuple[Model, Sequence[Draft]]], *, actor: str, at: datetime, prefix: str = "metafields"
) -> list[Metafield]:
    """Give several owners of one kind metafields, as ``set_many``, in as many statements as for one."""
    if not wanted:
        return []
    kind = owner_of(wanted[0][0])
    hold_owners(kind, [owner.pk for owner, _ in wanted])
    of_owners = Metafield.objects.filter(owner_resource=kind.resource, owner_id__in=[owner.pk for owner, _ in wanted])
    known = {(row.owner_id, row.namespace, row.key): row for row in of_owners.select_for_update().order_by("pk")}
    happened: list[Happening] = []
    changed: list[Metafield] = []
    columns = set[str]()
    for (owner_id, namespace, key), draft in _by_place(wanted).items():
        values = {"type": draft.type, "value": draft.value}
        if draft.description is not None:
            values["description"] = draft.description
        row = known.get((owner_id, namespace, key))
        if row is None:
            row = _new(kind, owner_id, values | {"namespace": namespace, "key": key}, at)
            happened.append(Happening(f"{kind.topics}/create", row))
        elif changes := assign(row, values, personal=values if kind.personal else ()):
            columns |= changes.keys()
            happened.append(Happening(f"{kind.topics}/update", row, changes))
        else:
            continue
        changed.append(row)
    try:
        with _refusing_taken():
            Metafield.objects.bulk_update([row for row in changed if row.pk], sorted(columns))
            Metafield.objects.bulk_create([row for row in changed if not row.pk])
    except IdTaken as refusal:
        raise BadMetafields({f"{prefix}.{_place_of_taken(kind, wanted)}.value": [TAKEN]}) from refusal
    record_events(happened, actor=actor, at=at)
    return changed


def _by_place(wanted: Sequence[tuple[Model, Sequence[Draft]]]) -> dict[tuple[int, str, str], Draft]:
    """The last draft for each owner, namespace and key."""
    return {(owner.pk, draft.namespace, draft.key): draft for owner, drafts in wanted for draft in drafts}


def _place_of_taken(kind: Owner, wanted: Sequence[tuple[Model, Sequence[Draft]]]) -> int:
    """The place, in its owner's list, of the first draft of type ``id`` whose value another owner has."""
    ids = [draft for _, drafts in wanted for draft in drafts if draft.type == "id"]
    stored = Metafield.objects.filter(owner_resource=kind.resource, type="id", value__in={draft.value for draft in ids})
    given: dict[tuple[str, str, str], int] = {
        (namespace, key, value): owner_id
        for namespace, key, value, owner_id in stored.values_list("namespace", "key", "value", "owner_id")
    }
    for owner, drafts in wanted:
        for place, draft in enumerate(drafts):
            name = (draft.namespace, draft.key, draft.value)
            if draft.type == "id" and given.setdefault(name, owner.pk) != owner.pk:
                return place
    return 0


@contextmanager
def _refusing_taken() -> Iterator[None]:
    """Turn the database's refusal into ours; the transaction goes on."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise _refusal_of(error) from error


def _drafts(rows: object, prefix: str) -> list[Draft]:
    if isinstance(rows, list) and all(isinstance(row, Draft) for row in rows):
        return rows
    return check_many(rows, prefix=prefix)


@transaction.atomic
def create(kind: Owner, owner_id: int, values: Attrs, *, actor: str, at: datetime) -> Metafield:
    """Give an owner a metafield; ``values`` are checked columns.

    Raises:
        Gone: The owner was deleted.
        NameTaken: It has one with the namespace and key.
        IdTaken: Another owner of the kind has the value, of type ``id``.
    """
    hold_owners(kind, [owner_id])
    metafield = _new(kind, owner_id, values, at)
    with _refusing_taken():
        metafield.save(force_insert=True)
    record_event(f"{kind.topics}/create", metafield, actor=actor, at=at)
    return metafield


def _new(kind: Owner, owner_id: int, values: Attrs, at: datetime) -> Metafield:
    shop = current_shop()
    return Metafield(shop=shop, owner_resource=kind.resource, owner_id=owner_id, created_at=at, **values)


@transaction.atomic
def update(metafield: Metafield, values: Attrs, *, actor: str, at: datetime) -> bool:
    """Change a metafield in place, if anything differs; returns whether it did. ``values`` are checked columns.

    Raises:
        Gone: It was deleted meanwhile.
        IdTaken: Another owner of the kind has the value, of type ``id``.
    """
    reread(metafield, no_key=True)
    kind = _kind_of(metafield)
    changes = assign(metafield, values, personal=values if kind.personal else ())
    if changes:
        with _refusing_taken():
            metafield.save(update_fields=list(changes))
        record_event(f"{kind.topics}/update", metafield, actor=actor, at=at, changes=changes)
    return bool(changes)


@transaction.atomic
def delete(metafield: Metafield, *, actor: str, at: datetime) -> None:
    """Take a metafield away from its owner.

    Raises:
        Gone: It was deleted meanwhile.
    """
    reread(metafield)
    record_event(f"{_kind_of(metafield).topics}/delete", metafield, actor=actor, at=at)
    metafield.delete()


def _refusal_of(error: IntegrityError) -> Exception:
    """What the database's refusal means; the error itself where it means something else."""
    breach = breach_of(error)
    if breach is None:
        return error
    return IdTaken(TAKEN) if breach.field == IdTaken.field else NameTaken(TAKEN)


def _kind_of(metafield: Metafield) -> Owner:
    owner = owner_named(metafield.owner_resource)
    if owner is None:
        raise LookupError(f"{metafield.owner_resource!r} owns no metafields")
    return owner
