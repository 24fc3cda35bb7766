"""The life of themes: creating, publishing, renaming, duplicating, retrying, deleting.

Whatever changes how many themes a shop has, or which is published, holds the shop's row lock, so two such changes never
meet. Rule: spec part A, Theme role; decisions, Themes.
"""

from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.content.domain import contents
from apps.content.models import Asset, FileContent, Theme
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.ground.locks import reread
from apps.ground.retelling import tells
from apps.jobs.domain.queue import enqueue
from apps.shops.domain.locks import lock_shop

_COPIED = tells(gettext_noop("Copied from {name}"))

MAX_THEMES = 20
EXTRACT = "content.extract_theme"
PUBLISHABLE = frozenset({Theme.Role.MAIN, Theme.Role.UNPUBLISHED})
_COPY_BATCH = 500


class TooManyThemes(DomainError):
    """The shop has as many themes as it may have."""

    code = "too_many_themes"


class NotPublishable(DomainError):
    """Demo and development themes cannot be published, nor can one without files."""

    code = "theme_not_publishable"
    field = "role"


class NotDeletable(DomainError):
    """The theme is being worked on, or is the published one."""

    code = "theme_not_deletable"


class NotCopyable(DomainError):
    """The theme has no files yet."""

    code = "theme_not_copyable"


class NotRetryable(DomainError):
    """The theme has not failed."""

    code = "theme_not_retryable"


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
    """Make a theme whose files a job copies into place.

    Args:
        name: What staff call it.
        role: ``main`` publishes it once its files are there.
        src: The URL of a ZIP archive; without one (and without an upload) it gets the files of the starter theme.
        upload: A ZIP archive that is stored already.
        actor: Who makes it.
        at: When.

    Raises:
        TooManyThemes: The shop has as many as it may have.
    """
    shop = lock_shop()
    _check_room()
    asked = role == Theme.Role.MAIN
    if asked:
        _forget_wishes()
    theme: Theme = Theme.objects.create(
        shop=shop,
        name=name,
        role=Theme.Role.UNPUBLISHED if asked else role,
        src=src,
        upload=upload,
        publish_when_ready=asked,
        created_at=at,
    )
    record_event("themes/create", theme, actor=actor, at=at)
    enqueue(EXTRACT, actor=actor, theme_id=theme.pk)
    return theme


@transaction.atomic
def complete(theme_id: int, files: dict[str, FileContent], *, actor: str, at: datetime) -> bool:
    """Give a theme its files, all at once, and publish it if that was asked for.

    Returns:
        Whether it was still waiting for them.
    """
    shop = lock_shop()
    moved = Theme.objects.filter(pk=theme_id, processing=True).update(
        processing=False, previewable=True, failure="", upload=None
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
    record_event("themes/update", theme, actor=actor, at=at, changes=changes)
    if theme.publish_when_ready:
        _switch_to(theme, actor=actor, at=at)
    return True


@transaction.atomic
def fail(theme_id: int, *, reason: str, actor: str, at: datetime) -> None:
    """Note that a theme's files cannot be had; it may be retried."""
    moved = Theme.objects.filter(pk=theme_id, processing=True).update(processing=False, failure=reason)
    if moved:
        theme = Theme.objects.get(pk=theme_id)
        record_event("themes/update", theme, actor=actor, at=at, changes={"processing": [True, False]}, message=reason)


@transaction.atomic
def retry(theme: Theme, *, actor: str, at: datetime) -> None:
    """Try once more to get the files of a theme that failed.

    Raises:
        NotRetryable: It did not fail.
    """
    if not resume(theme.pk):
        raise NotRetryable(_("Only a theme that failed can be retried."))
    theme.refresh_from_db()
    record_event("themes/update", theme, actor=actor, at=at, changes={"processing": [False, True]})
    enqueue(EXTRACT, actor=actor, theme_id=theme.pk)


def resume(theme_id: int) -> bool:
    """Let a theme that failed wait for its files again; returns whether it had failed."""
    failed = Theme.objects.filter(pk=theme_id, processing=False, previewable=False)
    return bool(failed.update(processing=True, failure=""))


@transaction.atomic
def rename(theme: Theme, name: str, *, actor: str, at: datetime) -> None:
    """Give a theme another name.

    Raises:
        Gone: Somebody deleted it a moment ago.
    """
    reread(theme, no_key=True)
    if name == theme.name:
        return
    changes = {"name": [theme.name, name]}
    theme.name = name
    theme.save(update_fields=["name"])
    record_event("themes/update", theme, actor=actor, at=at, changes=changes)


def hold(theme: Theme) -> None:
    """Hold the shop, then a theme together with the published one, whose place it may take."""
    lock_shop()
    both = Theme.objects.select_for_update(no_key=True).filter(Q(pk=theme.pk) | Q(role=Theme.Role.MAIN))
    list(both.order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def publish(theme: Theme, *, actor: str, at: datetime) -> None:
    """Show a theme to customers; the published one becomes a draft. One that is processing follows when it is done.

    Raises:
        NotPublishable: It is a demo or development theme, or it failed.
    """
    hold(theme)
    theme.refresh_from_db()
    if theme.role not in PUBLISHABLE:
        raise NotPublishable(_("A {role} theme cannot be published").format(role=theme.role))
    if theme.failed:
        raise NotPublishable(_("A theme without files cannot be published"))
    if theme.role == Theme.Role.MAIN:
        return
    if theme.processing:
        _forget_wishes()
        theme.publish_when_ready = True
        theme.save(update_fields=["publish_when_ready"])
        changes = {"publish_when_ready": [False, True]}
        record_event("themes/update", theme, actor=actor, at=at, changes=changes)
        return
    _switch_to(theme, actor=actor, at=at)


@transaction.atomic
def duplicate(theme: Theme, *, name: str = "", actor: str, at: datetime) -> Theme:
    """Copy a theme as a draft; the copy refers to the same contents.

    Raises:
        TooManyThemes: The shop has as many as it may have.
        NotCopyable: It has no files yet.
    """
    shop = lock_shop()
    _check_room()
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
    contents.keep(content_id for _, content_id in files)
    make = partial(Asset, shop=shop, theme=copy, actor=actor, created_at=at)
    Asset.objects.bulk_create(
        (make(key=key, content_id=content_id) for key, content_id in files), batch_size=_COPY_BATCH
    )
    record_event("themes/create", copy, actor=actor, at=at, message=_COPIED.format(name=theme.name))
    return copy


@transaction.atomic
def delete_theme(theme: Theme, *, actor: str, at: datetime) -> None:
    """Delete a theme with its files; contents that no other row uses are cleared later.

    Raises:
        NotDeletable: It is processing, or it is the published one.
    """
    lock_shop()
    # Whoever changes its files locks the theme first, so that neither waits for what the other holds.
    reread(theme)
    if theme.processing:
        raise NotDeletable(_("A theme cannot be deleted while its files are being copied."))
    if theme.role == Theme.Role.MAIN:
        raise NotDeletable(_("The published theme cannot be deleted."))
    record_event("themes/delete", theme, actor=actor, at=at)
    theme.delete()


def _check_room() -> None:
    if Theme.objects.count() >= MAX_THEMES:
        raise TooManyThemes(_("A shop can have at most {limit} themes.").format(limit=MAX_THEMES))


def _forget_wishes() -> None:
    """Whatever was to be published once its files are there: the last word counts, also over a retry weeks later."""
    Theme.objects.filter(publish_when_ready=True).update(publish_when_ready=False)


def _switch_to(theme: Theme, *, actor: str, at: datetime) -> None:
    """Make a theme the published one; the caller holds the shop's lock."""
    _forget_wishes()
    for old in Theme.objects.filter(role=Theme.Role.MAIN).exclude(pk=theme.pk):
        old.role = Theme.Role.UNPUBLISHED
        old.save(update_fields=["role"])
        record_event("themes/update", old, actor=actor, at=at, changes={"role": ["main", "unpublished"]})
    before = theme.role
    theme.role, theme.publish_when_ready = Theme.Role.MAIN, False
    theme.save(update_fields=["role", "publish_when_ready"])
    record_event("themes/publish", theme, actor=actor, at=at, changes={"role": [before, "main"]})
