"""The table of metafields: a row for each metafield, with its owner."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.utils.translation import gettext_lazy

from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import Body, Cells, RowResult
from apps.imports_exports.resources.metafields import importer
from apps.imports_exports.resources.metafields.owners import OWNER_KEYS, get_owner_names
from apps.metafields.models import Metafield

OWNER_TYPE, OWNER, NAMESPACE, KEY, TYPE, VALUE = "Owner Type", "Owner", "Namespace", "Key", "Type", "Value"
IMPORT_PERMISSION = "metafields.import_metafield"
_FIELDS = {
    OWNER_TYPE: "owner_resource",
    OWNER: "owner",
    NAMESPACE: "namespace",
    KEY: "key",
    TYPE: "type",
    VALUE: "value",
    "Description": "description",
}


def _find_column_names(columns: Sequence[str], known_names: Sequence[str]) -> Sequence[str] | None:
    return known_names if {OWNER_TYPE, OWNER, NAMESPACE, KEY, VALUE} <= set(known_names) else None


def _parse_row(rows: Sequence[Cells]) -> Body:
    return {name: rows[0][column] for column, name in _FIELDS.items() if column in rows[0]}


def _read_metafields(ids: Sequence[int]) -> list[ObjectData]:
    """Return metafields with the names of their owners. A metafield without a named owner is left out."""
    rows = Metafield.objects.in_bulk(ids)
    owner_ids: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows.values():
        owner_ids[row.owner_resource].append(row.owner_id)
    names = {resource: get_owner_names(resource, owners) for resource, owners in owner_ids.items()}
    return [
        {
            "owner_resource": row.owner_resource,
            "owner": owner,
            **{name: getattr(row, name) for name in ("namespace", "key", "type", "value", "description")},
        }
        for row in (rows[pk] for pk in ids if pk in rows)
        if (owner := names[row.owner_resource].get(row.owner_id))
    ]


def _get_cells(row: ObjectData) -> Iterable[ObjectData]:
    return [{column: row[name] for column, name in _FIELDS.items()}]


def _restrict(user: AbstractBaseUser) -> Mapping[str, object]:
    """Return the filter for the owner types that a user may export."""
    is_allowed = user.has_perm if isinstance(user, PermissionsMixin) else lambda permission: False
    return {"owner_resource__in": [name for name, key in OWNER_KEYS.items() if is_allowed(key.exportable_with)]}


METAFIELDS = Resource(
    name="metafield",
    label=gettext_lazy("Metafields"),
    singular="metafield",
    exporter=Exporter(
        model=Metafield,
        permission="metafields.export_metafield",
        granted_by="export_products",
        topic="metafields/export",
        columns=tuple(_FIELDS),
        read_objects=_read_metafields,
        get_cells=_get_cells,
        restrict=_restrict,
    ),
    importer=Importer(
        permission=IMPORT_PERMISSION,
        granted_by="products",
        models=(Metafield,),
        columns=tuple(_FIELDS),
        field_columns={name: column for column, name in _FIELDS.items()},
        aliases={
            OWNER_TYPE: ("Owner resource", "Resource"),
            OWNER: ("Owner identifier", "Owner handle", "Identifier"),
            TYPE: ("Value type",),
        },
        members=frozenset(_FIELDS.values()),
        find_names=_find_column_names,
        body=_parse_row,
        keys=importer.get_keys,
        duplicate_result=RowResult.CHANGED,
        import_rows=importer.import_rows,
    ),
)
