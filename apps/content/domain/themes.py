"""Create, publish, rename, duplicate, retry and delete themes.

Every change to the number of themes or to the published theme locks the shop row, so that these changes never run
concurrently.
"""

from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.content.domain import blob_store
from apps.content.models import Asset, FileContent, Theme
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import EventInput, record_event, record_secondary_events
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import as_message, define_message
from apps.core.jobs.queue import enqueue
from apps.core.tenancy.shops import lock_shop

_COPIED = define_message("themes.copied", "Copied from {name}")

MAX_THEMES = 20
EXTRACT_TASK = "content.extract_theme"
PUBLISHABLE = frozenset({Theme.Role.MAIN, Theme.Role.UNPUBLISHED})
_COPY_BATCH = 500


class TooManyThemes(DomainError):
    pass


class NotPublishable(DomainError):
    field = "role"


class NotDeletable(DomainError):
    pass


class NotCopyable(DomainError):
    pass


class NotRetryable(DomainError):
    pass


@transaction.atomic
def create_theme(
    *,
    name: str,
    role: str = Theme.Role.UNPUBLISHED,
    src: str = "",
    upload: FileContent | None = None,
    actor: str,
    at: datetime,
) -> Theme:
    """Create a theme. A job installs its files from a stored ZIP archive, a URL or the starter theme.

    With the role ``main``, the theme is published once its files are installed.
    """
    shop = lock_shop()
    _check_theme_count()
    publish_requested = role == Theme.Role.MAIN
    if publish_requested:
        _clear_pending_publications()
    theme: Theme = Theme.objects.create(
        shop=shop,
        name=name,
        role=Theme.Role.UNPUBLISHED if publish_requested else role,
        src=src,
        upload=upload,
        publish_when_ready=publish_requested,
        created_at=at,
    )
    record_event("themes/create", theme, actor=actor, at=at)
    enqueue(EXTRACT_TASK, actor=actor, theme_id=theme.pk)
    return theme


@transaction.atomic
def create_empty_theme(
    *, name: str, role: str = Theme.Role.UNPUBLISHED, created_at: datetime, actor: str, at: datetime
) -> Theme:
    """Create a theme without files, to which the caller then saves files one by one. It is never published."""
    shop = lock_shop()
    _check_theme_count()
    theme: Theme = Theme.objects.create(
        shop=shop,
        name=name,
        role=Theme.Role.UNPUBLISHED if role == Theme.Role.MAIN else role,
        processing=False,
        previewable=True,
        created_at=created_at,
    )
    record_event("themes/create", theme, actor=actor, at=at)
    return theme


@transaction.atomic
def install_theme_files(
    theme_id: int, files: dict[str, FileContent], *, notes: str = "", actor: str, at: datetime
) -> bool:
    """Add all files to a theme and publish it if requested. Return True if the theme was still processing.

    The page of the theme shows ``notes`` about files that were left out or converted.
    """
    shop = lock_shop()
    moved = Theme.objects.filter(pk=theme_id, processing=True).update(
        processing=False, previewable=True, failure="", notes=notes, upload=None
    )
    if not moved:
        return False
    Asset.objects.bulk_create(
        (
            Asset(shop=shop, theme_id=theme_id, key=key, content=content, actor=actor, created_at=at)
            for key, content in files.items()
        ),
        batch_size=_COPY_BATCH,
    )
    theme = Theme.objects.get(pk=theme_id)
    changes = {"processing": [True, False], "previewable": [False, True]}
    message = as_message(notes) if notes else None
    record_event("themes/update", theme, actor=actor, at=at, changes=changes, message=message)
    if theme.publish_when_ready:
        _set_published(theme, actor=actor, at=at)
    return True


@transaction.atomic
def mark_theme_failed(theme_id: int, *, reason: str, actor: str, at: datetime) -> None:
    """Record that the installation of a theme's files failed. It can be retried."""
    moved = Theme.objects.filter(pk=theme_id, processing=True).update(processing=False, failure=reason)
    if moved:
        theme = Theme.objects.get(pk=theme_id)
        record_event(
            "themes/update",
            theme,
            actor=actor,
            at=at,
            changes={"processing": [True, False]},
            message=as_message(reason),
        )


@transaction.atomic
def retry_theme(theme: Theme, *, actor: str, at: datetime) -> None:
    if not resume_processing(theme.pk):
        raise NotRetryable(_("Only a failed installation can be retried."))
    theme.refresh_from_db()
    record_event("themes/update", theme, actor=actor, at=at, changes={"processing": [False, True]})
    enqueue(EXTRACT_TASK, actor=actor, theme_id=theme.pk)


def resume_processing(theme_id: int) -> bool:
    """Set a failed theme back to processing. Return True if the theme had failed."""
    failed = Theme.objects.filter(pk=theme_id, processing=False, previewable=False)
    return bool(failed.update(processing=True, failure=""))


@transaction.atomic
def rename_theme(theme: Theme, name: str, *, actor: str, at: datetime) -> None:
    refresh_for_update(theme, no_key=True)
    if name == theme.name:
        return
    changes = {"name": [theme.name, name]}
    theme.name = name
    theme.save(update_fields=["name"])
    record_event("themes/update", theme, actor=actor, at=at, changes=changes)


def lock_theme(theme: Theme) -> None:
    """Lock the shop first, and then both the theme and the published theme that it may replace."""
    lock_shop()
    both = Theme.objects.select_for_update(no_key=True).filter(Q(pk=theme.pk) | Q(role=Theme.Role.MAIN))
    list(both.order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def publish_theme(theme: Theme, *, actor: str, at: datetime) -> None:
    """Publish a theme, now or once its files are installed. The previously published theme becomes a draft."""
    lock_theme(theme)
    theme.refresh_from_db()
    if theme.role not in PUBLISHABLE:
        raise NotPublishable(_("A {role} theme cannot be published").format(role=theme.role))
    if theme.failed:
        raise NotPublishable(_("A theme without files cannot be published"))
    if theme.role == Theme.Role.MAIN:
        return
    if theme.processing:
        _clear_pending_publications()
        theme.publish_when_ready = True
        theme.save(update_fields=["publish_when_ready"])
        changes = {"publish_when_ready": [False, True]}
        record_event("themes/update", theme, actor=actor, at=at, changes=changes)
        return
    _set_published(theme, actor=actor, at=at)


@transaction.atomic
def duplicate_theme(theme: Theme, *, name: str = "", actor: str, at: datetime) -> Theme:
    """Copy a theme as a draft. Both themes refer to the same blobs."""
    shop = lock_shop()
    _check_theme_count()
    theme.refresh_from_db()
    if not theme.previewable:
        raise NotCopyable(_("A theme without files cannot be duplicated."))
    copy: Theme = Theme.objects.create(
        shop=shop,
        name=name or f"Copy of {theme.name}"[:255],
        processing=False,
        previewable=True,
        created_at=at,
    )
    files = list(Asset.objects.filter(theme=theme).order_by("key").values_list("key", "content_id"))
    blob_store.protect_blobs(content_id for _, content_id in files)
    make = partial(Asset, shop=shop, theme=copy, actor=actor, created_at=at)
    Asset.objects.bulk_create(
        (make(key=key, content_id=content_id) for key, content_id in files), batch_size=_COPY_BATCH
    )
    record_event("themes/create", copy, actor=actor, at=at, message=_COPIED(name=theme.name))
    return copy


@transaction.atomic
def delete_theme(theme: Theme, *, actor: str, at: datetime) -> None:
    """Delete a theme and its files. The cleanup later deletes blobs that no other row uses."""
    lock_shop()
    # Changes to theme files also lock the theme first, so the same order here avoids deadlocks.
    refresh_for_update(theme)
    if theme.processing:
        raise NotDeletable(_("A theme cannot be deleted while its files are being installed."))
    if theme.role == Theme.Role.MAIN:
        raise NotDeletable(_("The published theme cannot be deleted."))
    record_event("themes/delete", theme, actor=actor, at=at)
    theme.delete()


def _check_theme_count() -> None:
    if Theme.objects.count() >= MAX_THEMES:
        raise TooManyThemes(_("A shop can have at most {limit} themes. Delete a theme first.").format(limit=MAX_THEMES))


def _clear_pending_publications() -> None:
    """Clear all pending publications, so that the latest request wins even if an older theme is retried weeks later."""
    Theme.objects.filter(publish_when_ready=True).update(publish_when_ready=False)


def _set_published(theme: Theme, *, actor: str, at: datetime) -> None:
    """Make a theme the published theme. The caller must have locked the shop."""
    _clear_pending_publications()
    for old in Theme.objects.filter(role=Theme.Role.MAIN).exclude(pk=theme.pk):
        old.role = Theme.Role.UNPUBLISHED
        old.save(update_fields=["role"])
        record_event("themes/update", old, actor=actor, at=at, changes={"role": ["main", "unpublished"]})
    before = theme.role
    theme.role, theme.publish_when_ready = Theme.Role.MAIN, False
    theme.save(update_fields=["role", "publish_when_ready"])
    record_event("themes/publish", theme, actor=actor, at=at, changes={"role": [before, "main"]})
    record_secondary_events([EventInput("themes/update", theme)], actor=actor, at=at)
