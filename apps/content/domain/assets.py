"""Validate, save, delete and restore theme files.

Contents are stored before the transaction (``store_asset_content``), and rows are written in the transaction. Each save
keeps the previous content as a version.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NoReturn

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _

from apps.content.domain import blob_store
from apps.content.domain.theme_archive import DEFAULT_LIMITS, LAYOUT, TEXT_SUFFIXES, is_theme_key
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import Limits, download_file
from apps.core.i18n.error_messages import BLANK, INVALID, format_bytes, larger_than, too_long
from apps.core.i18n.messages import Message, as_message, define_message, define_text, translate
from apps.core.media.attachments import AttachmentRefused, decode_attachment

_SAVED = define_message("theme_files.saved", "Saved {key}")
_DELETED = define_message("theme_files.deleted", "Deleted {key}")
_KEY_IS = define_message("theme_files.key", "key {problem}")
_TOO_LARGE = define_message("theme_files.too_large", "The file {key} is larger than {size}")
_NO_TEXT = define_message("theme_files.not_text", "The file {key} is not UTF-8 text")
_NO_JSON = define_message("theme_files.not_json", "The file {key} is not valid JSON: {problem}")
_NESTED = define_text("theme_files.nested", "it is nested too deeply")
_EXACTLY_ONE = define_message("theme_files.exactly_one", "must have exactly one of {names}")
_FULL = define_message("theme_files.theme_full", "The theme already has the maximum of {number} files")

MAX_KEY = 255
MAX_VERSIONS = 50
SOURCES = ("value", "attachment", "src", "source_key")
_COMMENT = re.compile(r"\s*/\*.*?\*/", re.DOTALL)


class AssetRefused(DomainError):
    field = "asset"


class AssetNotFound(DomainError):
    field = "asset"
    status = 404


class EditConflict(DomainError):
    field = "asset"
    status = 409


def is_text_file(key: str) -> bool:
    return key[key.rfind(".") :].lower() in TEXT_SUFFIXES if "." in key.rpartition("/")[2] else False


def check_asset_key(key: object) -> str:
    if key is None or key == "":
        raise AssetRefused(_KEY_IS(problem=BLANK))
    if not isinstance(key, str):
        raise AssetRefused(_KEY_IS(problem=INVALID))
    if len(key) > MAX_KEY:
        raise AssetRefused(_KEY_IS(problem=too_long(MAX_KEY)))
    if not is_theme_key(key):
        raise AssetRefused(_KEY_IS(problem=INVALID))
    return key


def check_asset_content(key: str, data: bytes) -> None:
    """Check the size of a theme file and the text or JSON that its file type requires."""
    limit = DEFAULT_LIMITS.asset_bytes(key)
    if len(data) > limit:
        raise AssetRefused(_TOO_LARGE(key=key, size=format_bytes(limit)))
    if not is_text_file(key):
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise AssetRefused(_NO_TEXT(key=key)) from None
    if key.lower().endswith(".json"):
        _check_json(key, text)


def _check_json(key: str, text: str) -> None:
    comment = _COMMENT.match(text)
    try:
        # Skip parsing numbers, which can be very long. Reject NaN and Infinity, which Python accepts but JSON does not.
        json.loads(
            text[comment.end() :] if comment else text, parse_int=str, parse_float=str, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError) as error:
        reason = _NESTED if isinstance(error, RecursionError) else as_message(str(error))
        raise AssetRefused(_NO_JSON(key=key, problem=reason)) from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def store_asset_content(theme: Theme, values: Mapping[str, object]) -> tuple[str, FileContent]:
    """Store the content from ``key`` and exactly one of ``SOURCES``. Return the key and the content.

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
    if sources[0] == "source_key":
        source = Asset.objects.select_related("content").filter(theme=theme, key=value).first()
        if source is None:
            raise AssetRefused(_("source_key does not exist"))
        data = blob_store.read_blob(source.content)
    elif sources[0] == "src":
        data = _download_content(value)
    elif sources[0] == "attachment":
        data = _decode_attachment(key, value)
    else:
        data = value.encode()
    check_asset_content(key, data)
    return key, blob_store.store_blob(data)


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
    theme: Theme, key: str, content: FileContent, *, actor: str, at: datetime, expected: str | None = None
) -> Asset:
    """Save stored content as a theme file. The key must be valid.

    ``expected`` is the checksum of the content that the actor edited, or "" for a new file. If it is None, the conflict
    check is skipped.

    Raises:
        AssetRefused: The theme's files are not installed yet, or the theme would exceed the limits of an archive.
        EditConflict: The file has been changed since the actor loaded it.
    """
    asset: Asset | None = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
    if asset is not None and asset.content_id == content.pk:
        return asset
    _lock_and_touch(theme)
    asset = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
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
    _record(theme, _SAVED(key=key), {key: [before or None, content.md5]}, actor=actor, at=at)
    return asset


@transaction.atomic
def delete_asset(theme: Theme, key: str, *, actor: str, at: datetime) -> None:
    """Delete a theme file, but keep the file's versions, so that it can be restored."""
    if key == LAYOUT:
        raise AssetRefused(_("The file {layout} cannot be deleted").format(layout=LAYOUT))
    _lock_and_touch(theme)
    asset = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
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
    folders = [key[:end] for end, character in enumerate(key) if character == "/"]
    conflict = Q(key__iexact=key) | Q(key__istartswith=f"{key}/")
    for folder in folders:
        conflict |= Q(key__iexact=folder)
    other = Asset.objects.filter(conflict, theme=theme).values_list("key", flat=True).first()
    if other is None:
        return
    if other.lower() == key.lower():
        raise AssetRefused(_("The file {other} already exists, and the names differ only in case").format(other=other))
    raise AssetRefused(
        _("The file conflicts with {other}: a path can't be both a file and a folder").format(other=other)
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
