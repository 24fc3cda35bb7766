"""Validate, save, delete and restore theme files.

Contents are stored before the transaction (``store_asset_content``), and rows are written in the transaction. Each save
keeps the previous content as a version.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from apps.content.domain import blob_store
from apps.content.domain.theme_archive import DEFAULT_LIMITS
from apps.content.domain.theme_files.contents import ContentRefused, check_content, describe_conversions
from apps.content.domain.theme_files.keys import LAYOUT, find_key_conflict, find_key_problem, normalize_key
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import Limits, download_file
from apps.core.i18n.error_messages import BLANK, INVALID, larger_than
from apps.core.i18n.messages import Message, define_message, join_messages, translate
from apps.core.media.attachments import AttachmentRefused, decode_attachment

_SAVED = define_message("theme_files.saved", "Saved {key}")
_DELETED = define_message("theme_files.deleted", "Deleted {key}")
_KEY_IS = define_message("theme_files.key", "key {problem}")
_EXACTLY_ONE = define_message("theme_files.exactly_one", "must have exactly one of {names}")
_FULL = define_message("theme_files.theme_full", "The theme already has the maximum of {number} files")

MAX_VERSIONS = 50
SOURCES = ("value", "attachment", "src", "source_key")


class AssetRefused(DomainError):
    field = "asset"


class AssetNotFound(DomainError):
    field = "asset"
    status = 404


class EditConflict(DomainError):
    field = "asset"
    status = 409


class StoredAsset(NamedTuple):
    """A stored content with the key of its theme file, and a note if it was converted."""

    key: str
    content: FileContent
    note: Message | None


def check_asset_key(key: object) -> str:
    """Return a key in its normalized form."""
    if key is None or key == "":
        raise AssetRefused(_KEY_IS(problem=BLANK))
    if not isinstance(key, str):
        raise AssetRefused(_KEY_IS(problem=INVALID))
    key = normalize_key(key)
    if problem := find_key_problem(key):
        raise AssetRefused(_KEY_IS(problem=problem))
    return key


def check_asset_content(key: str, data: bytes) -> tuple[bytes, Message | None]:
    """Check the content of a theme file, and return it in UTF-8, with a note if it was converted."""
    try:
        checked = check_content(key, data)
    except ContentRefused as error:
        raise AssetRefused(str(error)) from error
    notes = describe_conversions({checked.conversion: [key]}) if checked.conversion else []
    return checked.data, notes[0] if notes else None


def get_asset(theme: Theme, key: str) -> Asset | None:
    """Return a theme file with its content, or None if it does not exist."""
    files = Asset.objects.select_related("content")
    asset: Asset | None = files.filter(theme=theme, key=normalize_key(key)).first()
    return asset


def store_asset_content(theme: Theme, values: Mapping[str, object]) -> StoredAsset:
    """Store the content from ``key`` and exactly one of ``SOURCES``.

    Must be called before the transaction, because it may download a file.
    """
    key = check_asset_key(values.get("key"))
    # Clients in typed languages send unused sources as "". A ``value`` of "" alone is an empty file.
    sources = [name for name in SOURCES if values.get(name)] or [name for name in SOURCES if values.get(name) == ""]
    if sources[:1] == ["value"] and values["value"] == "":
        sources = ["value"]
    if len(sources) != 1:
        raise AssetRefused(_EXACTLY_ONE(names=", ".join(SOURCES)))
    value = values[sources[0]]
    if not isinstance(value, str):
        raise AssetRefused(f"{sources[0]} {INVALID}")
    data, note = check_asset_content(key, _load_content(theme, key, sources[0], value))
    return StoredAsset(key, blob_store.store_blob(data), note)


def _load_content(theme: Theme, key: str, source: str, value: str) -> bytes:
    if source == "source_key":
        original = get_asset(theme, value)
        if original is None:
            raise AssetRefused(_("source_key does not exist"))
        return blob_store.read_blob(original.content)
    return decode_content(key, source, value)


def decode_content(key: str, source: str, value: str) -> bytes:
    """Return the bytes of a value, an attachment, or the file to download from a ``src``."""
    if source == "src":
        return _download_content(value)
    return _decode_attachment(key, value) if source == "attachment" else value.encode()


def _decode_attachment(key: str, value: str) -> bytes:
    try:
        return decode_attachment(value, DEFAULT_LIMITS.asset_bytes(key))
    except AttachmentRefused as error:
        raise AssetRefused(f"attachment {error}") from None


def _download_content(src: str) -> bytes:
    limits = Limits(max_bytes=DEFAULT_LIMITS.binary_bytes, total_seconds=10)
    try:
        with download_file(src, limits=limits) as download:
            return download.file.read()
    except HttpRequestFailed as error:
        raise AssetRefused(_("Could not download src: {error}").format(error=translate(str(error)))) from None


@transaction.atomic
def save_asset(
    theme: Theme,
    key: str,
    content: FileContent,
    *,
    actor: str,
    at: datetime,
    expected: str | None = None,
    note: Message | None = None,
) -> Asset:
    """Save stored content as a theme file. The key must be valid and normalized.

    ``expected`` is the checksum of the content that the actor edited, or "" for a new file. If it is None, the conflict
    check is skipped. A ``note`` about a converted content appears in the history of the theme.

    Raises:
        AssetRefused: The theme's files are not installed yet, or the theme would exceed the limits of an archive.
        EditConflict: The file has been changed since the actor loaded it.
    """
    asset = get_asset(theme, key)
    if asset is not None and asset.content_id == content.pk:
        return asset
    _lock_and_touch(theme)
    asset = get_asset(theme, key)
    before = asset.content.md5 if asset else ""
    if expected is not None and before not in {expected, content.md5}:
        raise EditConflict(_("The file {key} was changed by someone else").format(key=key))
    _check_theme_limits(theme, asset, content)
    if asset is None:
        _check_key_conflicts(theme, key)
        asset = Asset.objects.create(
            shop_id=theme.shop_id, theme=theme, key=key, content=content, actor=actor, created_at=at
        )
    elif asset.content_id != content.pk:
        _save_version(asset)
        asset.content, asset.actor = content, actor
        asset.save(update_fields=["content", "actor"])
    message = join_messages([_SAVED(key=key), *([note] if note else [])])
    _record(theme, message, {key: [before or None, content.md5]}, actor=actor, at=at)
    return asset


@transaction.atomic
def delete_asset(theme: Theme, key: str, *, actor: str, at: datetime) -> None:
    """Delete a theme file, but keep the file's versions, so that it can be restored."""
    key = normalize_key(key)
    if key == LAYOUT:
        raise AssetRefused(_("The file {layout} cannot be deleted").format(layout=LAYOUT))
    _lock_and_touch(theme)
    asset = get_asset(theme, key)
    if asset is None:
        raise AssetNotFound(_("The file {key} does not exist").format(key=key))
    _save_version(asset)
    asset.delete()
    _record(theme, _DELETED(key=key), {key: [asset.content.md5, None]}, actor=actor, at=at)


@transaction.atomic
def restore_asset_version(version: AssetVersion, *, actor: str, at: datetime) -> Asset:
    blob_store.open_blob(version.content).close()
    blob_store.protect_blobs([version.content_id])
    return save_asset(version.theme, version.key, version.content, actor=actor, at=at)


def _lock_and_touch(theme: Theme) -> None:
    """Lock the theme and increase its version number before a file changes."""
    if not Theme.objects.filter(pk=theme.pk, previewable=True).update():
        theme.refresh_from_db()
        raise AssetRefused(_("The theme's files are not installed yet"))


def _check_key_conflicts(theme: Theme, key: str) -> None:
    """Reject a key if some file systems can't store it with another key, so that an archive can be uploaded again."""
    directory = key.partition("/")[0]
    keys = Asset.objects.filter(theme=theme, key__startswith=f"{directory}/").values_list("key", flat=True)
    conflict = find_key_conflict([key], others=keys)
    if conflict is None:
        return
    if conflict.is_same_name:
        raise AssetRefused(
            _("The file {other} already exists, and some systems can't tell the names apart").format(
                other=conflict.other
            )
        )
    raise AssetRefused(
        _("The file conflicts with {other}: a path can't be both a file and a folder").format(other=conflict.other)
    )


def _check_theme_limits(theme: Theme, asset: Asset | None, content: FileContent) -> None:
    other_assets = Asset.objects.filter(theme=theme)
    if asset is not None:
        other_assets = other_assets.exclude(pk=asset.pk)
    total = other_assets.aggregate(files=Count("id"), size=Sum("content__size"))
    if asset is None and total["files"] >= DEFAULT_LIMITS.entries:
        raise AssetRefused(_FULL(number=f"{DEFAULT_LIMITS.entries:,}"))
    grows = asset is None or content.size > asset.content.size
    if grows and (total["size"] or 0) + content.size > DEFAULT_LIMITS.unpacked_bytes:
        raise AssetRefused(
            _("With this file, the theme would be {size}").format(
                size=larger_than(DEFAULT_LIMITS.unpacked_bytes).localize()
            )
        )


def _save_version(asset: Asset) -> None:
    AssetVersion.objects.create(
        shop_id=asset.shop_id,
        theme_id=asset.theme_id,
        key=asset.key,
        content=asset.content,
        actor=asset.actor,
        saved_at=asset.updated_at,
    )
    versions = AssetVersion.objects.filter(theme_id=asset.theme_id, key=asset.key).order_by("-id")
    oldest = versions.values_list("pk", flat=True)[MAX_VERSIONS - 1 : MAX_VERSIONS].first()
    if oldest is not None:
        versions.filter(pk__lt=oldest).delete()


def _record(theme: Theme, message: Message, changes: Mapping[str, object], *, actor: str, at: datetime) -> None:
    record_event("themes/update", theme, actor=actor, at=at, changes=changes, message=message)
