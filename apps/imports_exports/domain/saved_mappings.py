"""Save column mappings under a name, and find the mapping for a file with the same columns."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import too_long
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain.column_mapping import ColumnMapping, is_reason_column, normalize_columns
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.models import SavedMapping

SAVED, DELETED = "import_mappings/save", "import_mappings/delete"
MAX_MAPPINGS, _MAX_NAME = 100, 100


class TooManyMappings(DomainError):
    field = "save_as"


def build_fingerprint(columns: Sequence[str]) -> str:
    """Return a hash of the columns of a file. The order, case and punctuation of the names do not matter.

    The reasons in a file of refused rows do not count either.
    """
    names = [column for column in columns if not is_reason_column(column)]
    return hashlib.sha256("\n".join(sorted(normalize_columns(names))).encode()).hexdigest()


@transaction.atomic
def save_mapping(
    name: str, mapping: ColumnMapping, columns: Sequence[str], *, actor: str, at: datetime
) -> SavedMapping:
    """Save a mapping for files with these columns. A mapping with the same name is replaced.

    Raises:
        DomainError: If the name is too long.
        TooManyMappings: If the shop has too many mappings.
    """
    if len(name) > _MAX_NAME:
        raise DomainError(too_long(_MAX_NAME), field="save_as")
    values = {"mapping": mapping, "fingerprint": build_fingerprint(columns)}
    if not SavedMapping.objects.filter(name=name).exists() and SavedMapping.objects.count() >= MAX_MAPPINGS:
        raise TooManyMappings(_("There can be at most {limit} saved mappings. Delete one.").format(limit=MAX_MAPPINGS))
    created = {**values, "shop": get_current_shop(), "created_at": at}
    saved, _is_new = SavedMapping.objects.update_or_create(name=name, defaults=values, create_defaults=created)
    record_event(SAVED, saved, actor=actor, at=at)
    return saved


@transaction.atomic
def delete_mapping(saved: SavedMapping, *, actor: str, at: datetime) -> None:
    record_event(DELETED, saved, actor=actor, at=at)
    saved.delete()


def find_fitting_mapping(columns: Sequence[str]) -> SavedMapping | None:
    """Return the mapping that was last saved for files with these columns, or None."""
    fitting = SavedMapping.objects.filter(fingerprint=build_fingerprint(columns), mapping__kind__in=get_importers())
    return fitting.order_by("-updated_at", "-pk").first()
