"""The files of a theme: which keys and contents are taken, saving, deleting, restoring.

Contents are stored before the transaction (``prepare``), rows are written within it. Each save keeps what was there
before as a version. Rule: decisions, Assets.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NoReturn

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.content.domain import contents
from apps.content.domain.archive import DEFAULT, LAYOUT, TEXT_SUFFIXES, is_key
from apps.content.models import Asset, AssetVersion, FileContent, Theme
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, larger_than, size_of, too_long
from apps.ground.retelling import retold, tells
from apps.media.attachments import AttachmentRefused, decode_attachment
from apps.outgoing.client import Limits, fetch
from apps.outgoing.errors import FetchFailed

_SAVED = tells(gettext_noop("Saved {key}"))
_DELETED = tells(gettext_noop("Deleted {key}"))
_KEY_IS = tells(gettext_noop("key {problem}"), problem=retold)
_TOO_LARGE = tells(gettext_noop("{key} is larger than {size}"))
_NO_TEXT = tells(gettext_noop("{key} is not UTF-8 text"))
_NO_JSON = tells(gettext_noop("{key} is not valid JSON: {problem}"), problem=retold)
_EXACTLY_ONE = tells(gettext_noop("must have exactly one of {names}"))
_FULL = tells(gettext_noop("the theme has {number} files already"))

MAX_KEY = 255
MAX_VERSIONS = 50
SOURCES = ("value", "attachment", "src", "source_key")
_COMMENT = re.compile(r"\s*/\*.*?\*/", re.DOTALL)


class AssetRefused(DomainError):
    """The key or the content does not belong into a theme."""

    code = "asset_refused"
    field = "asset"


class AssetNotFound(DomainError):
    """The theme has no such file."""

    code = "asset_not_found"
    field = "asset"
    status = 404


class EditConflict(DomainError):
    """Somebody else saved the file meanwhile."""

    code = "asset_edit_conflict"
    field = "asset"
    status = 409


def is_text(key: str) -> bool:
    """Whether a file's content is text, by its key."""
    return key[key.rfind(".") :].lower() in TEXT_SUFFIXES if "." in key.rpartition("/")[2] else False


def check_key(key: object) -> str:
    """The key, if a theme may have it.

    Raises:
        AssetRefused: It may not.
    """
    if key is None or key == "":
        raise AssetRefused(_KEY_IS.format(problem=BLANK))
    if not isinstance(key, str):
        raise AssetRefused(_KEY_IS.format(problem=INVALID))
    if len(key) > MAX_KEY:
        raise AssetRefused(_KEY_IS.format(problem=too_long(MAX_KEY)))
    if not is_key(key):
        raise AssetRefused(_KEY_IS.format(problem=INVALID))
    return key


def check_content(key: str, data: bytes) -> None:
    """Hold a file's content to the rules of its kind.

    Raises:
        AssetRefused: It is too large, no text though its key says so, or no JSON though its key says so.
    """
    limit = DEFAULT.asset_bytes(key)
    if len(data) > limit:
        raise AssetRefused(_TOO_LARGE.format(key=key, size=size_of(limit)))
    if not is_text(key):
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise AssetRefused(_NO_TEXT.format(key=key)) from None
    if key.lower().endswith(".json"):
        _check_json(key, text)


def _check_json(key: str, text: str) -> None:
    comment = _COMMENT.match(text)
    try:
        # Numbers are not of interest, so long ones cost nothing; NaN and Infinity are no JSON though Python reads them.
        json.loads(
            text[comment.end() :] if comment else text, parse_int=str, parse_float=str, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        reason = gettext_noop("it is nested too deeply") if isinstance(error, RecursionError) else str(error)
        raise AssetRefused(_NO_JSON.format(key=key, problem=reason)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def prepare(theme: Theme, given: Mapping[str, object]) -> tuple[str, FileContent]:
    """Store the content that a request brings; it may download, so it is called before the transaction.

    Args:
        theme: The theme.
        given: ``key`` and exactly one of ``SOURCES``.

    Returns:
        The key and the content.

    Raises:
        AssetRefused: The key or the content is not taken.
    """
    key = check_key(given.get("key"))
    named = [name for name in SOURCES if given.get(name) is not None]
    if len(named) != 1:
        raise AssetRefused(_EXACTLY_ONE.format(names=", ".join(SOURCES)))
    value = given[named[0]]
    if not isinstance(value, str):
        raise AssetRefused(f"{named[0]} {INVALID}")
    if named[0] == "source_key":
        source = Asset.objects.select_related("content").filter(theme=theme, key=value).first()
        if source is None:
            raise AssetRefused(_("source_key does not exist"))
        data = contents.read(source.content)
    elif named[0] == "src":
        data = _download(value)
    elif named[0] == "attachment":
        data = _decoded(key, value)
    else:
        data = value.encode()
    check_content(key, data)
    return key, contents.store(data)


def _decoded(key: str, value: str) -> bytes:
    try:
        return decode_attachment(value, DEFAULT.asset_bytes(key))
    except AttachmentRefused as error:
        raise AssetRefused(f"attachment {error}") from None


def _download(src: str) -> bytes:
    limits = Limits(max_bytes=DEFAULT.binary_bytes, total_seconds=10)
    try:
        with fetch(src, limits=limits) as download:
            return download.file.read()
    except FetchFailed as error:
        raise AssetRefused(_("Could not download src: {error}").format(error=error)) from None


@transaction.atomic
def save_asset(
    theme: Theme, key: str, content: FileContent, *, actor: str, at: datetime, expected: str | None = None
) -> Asset:
    """Put a stored content into a theme under a key.

    Args:
        theme: The theme.
        key: A checked key.
        content: From ``prepare`` or ``contents.store``.
        actor: Who saves it.
        at: When.
        expected: The checksum of what the actor began to edit, "" for a new file; None saves over anything.

    Raises:
        AssetRefused: The theme's files are not in place, or with this one they would fit no archive.
        Theme.DoesNotExist: Somebody deleted the theme meanwhile.
        EditConflict: The file is not what the actor began to edit.
    """
    asset: Asset | None = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
    if asset is not None and asset.content_id == content.pk:
        return asset
    _touch(theme)
    asset = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
    before = asset.content.md5 if asset else ""
    if expected is not None and before not in {expected, content.md5}:
        raise EditConflict(_("{key} was changed meanwhile").format(key=key))
    _check_size(theme, asset, content)
    if asset is None:
        _check_neighbours(theme, key)
        asset = Asset.objects.create(
            shop_id=theme.shop_id, theme=theme, key=key, content=content, actor=actor, created_at=at
        )
    elif asset.content_id != content.pk:
        _keep_version(asset)
        asset.content, asset.actor = content, actor
        asset.save(update_fields=["content", "actor"])
    _record(theme, _SAVED.format(key=key), {key: [before or None, content.md5]}, actor=actor, at=at)
    return asset


@transaction.atomic
def delete_asset(theme: Theme, key: str, *, actor: str, at: datetime) -> None:
    """Delete a file of a theme; it can be restored from its versions.

    Raises:
        AssetNotFound: There is none.
        AssetRefused: A theme cannot do without it.
    """
    if key == LAYOUT:
        raise AssetRefused(_("{layout} cannot be deleted").format(layout=LAYOUT))
    _touch(theme)
    asset = Asset.objects.select_related("content").filter(theme=theme, key=key).first()
    if asset is None:
        raise AssetNotFound(_("{key} does not exist").format(key=key))
    _keep_version(asset)
    asset.delete()
    _record(theme, _DELETED.format(key=key), {key: [asset.content.md5, None]}, actor=actor, at=at)


@transaction.atomic
def restore_version(version: AssetVersion, *, actor: str, at: datetime) -> Asset:
    """Make a file again what it was in a version.

    Raises:
        StorageFailed: The storage has lost what it was.
    """
    contents.open_content(version.content).close()
    contents.keep([version.content_id])
    return save_asset(version.theme, version.key, version.content, actor=actor, at=at)


def _touch(theme: Theme) -> None:
    """Lock the theme, and move its version: its list of files shows the change."""
    if not Theme.objects.filter(pk=theme.pk, previewable=True).update():
        theme.refresh_from_db()
        raise AssetRefused(_("the theme's files are not in place yet"))


def _check_neighbours(theme: Theme, key: str) -> None:
    """Keep a theme such that its archive can be unpacked anywhere, and taken in again."""
    folders = [key[:end] for end, character in enumerate(key) if character == "/"]
    clash = Q(key__iexact=key) | Q(key__istartswith=f"{key}/")
    for folder in folders:
        clash |= Q(key__iexact=folder)
    other = Asset.objects.filter(clash, theme=theme).values_list("key", flat=True).first()
    if other is None:
        return
    if other.lower() == key.lower():
        raise AssetRefused(_("key differs from {other} only in capitals").format(other=other))
    raise AssetRefused(_("key and {other} would make a folder of a file").format(other=other))


def _check_size(theme: Theme, asset: Asset | None, content: FileContent) -> None:
    """Hold the files of a theme to the limits of its archive."""
    others = Asset.objects.filter(theme=theme)
    if asset is not None:
        others = others.exclude(pk=asset.pk)
    total = others.aggregate(files=Count("id"), size=Sum("content__size"))
    if asset is None and total["files"] >= DEFAULT.entries:
        raise AssetRefused(_FULL.format(number=f"{DEFAULT.entries:,}"))
    grows = asset is None or content.size > asset.content.size
    if grows and (total["size"] or 0) + content.size > DEFAULT.unpacked_bytes:
        raise AssetRefused(
            _("with this file the theme would be {size}").format(size=larger_than(DEFAULT.unpacked_bytes))
        )


def _keep_version(asset: Asset) -> None:
    AssetVersion.objects.create(
        shop_id=asset.shop_id,
        theme_id=asset.theme_id,
        key=asset.key,
        content=asset.content,
        actor=asset.actor,
        saved_at=asset.updated_at,
    )
    kept = AssetVersion.objects.filter(theme_id=asset.theme_id, key=asset.key).order_by("-id")
    oldest = kept.values_list("pk", flat=True)[MAX_VERSIONS - 1 : MAX_VERSIONS].first()
    if oldest is not None:
        kept.filter(pk__lt=oldest).delete()


def _record(theme: Theme, message: str, changes: Mapping[str, object], *, actor: str, at: datetime) -> None:
    record_event("themes/update", theme, actor=actor, at=at, changes=changes, message=message)
