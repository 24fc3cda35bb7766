"""Create script tags for apps, and delete them when an app is uninstalled."""

import json
import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from apps.content.domain import blob_store
from apps.content.domain.public_urls import get_storefront_url
from apps.content.models import Asset, ScriptCopy, ScriptTag, Theme
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import MIB, Limits, download_file
from apps.core.media.storage import StorageFailed
from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.shops.domain.app_installation import lock_active


@transaction.atomic(savepoint=False)
def create_script_tag(installation: Installation, attrs: Attrs, *, actor: str, at: datetime) -> ScriptTag:
    """Create a script tag.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
    """
    lock_active(installation.app_id)
    tag = ScriptTag.objects.create(shop_id=installation.shop_id, app_id=installation.app_id, **attrs)
    record_event("script_tags/create", tag, actor=actor, at=at)
    return tag


@transaction.atomic
def update_script_tag(tag: ScriptTag, attrs: Attrs, *, actor: str, at: datetime) -> None:
    refresh_for_update(tag, no_key=True)
    if changes := apply_changes(tag, attrs):
        tag.save(update_fields=list(changes))
        record_event("script_tags/update", tag, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_script_tag(tag: ScriptTag, *, actor: str, at: datetime) -> None:
    record_event("script_tags/delete", tag, actor=actor, at=at)
    tag.delete()


def delete_script_tags(installation: Installation, at: datetime) -> None:
    for tag in ScriptTag.objects.filter(app_id=installation.app_id).order_by("id"):
        delete_script_tag(tag, actor="system", at=at)


logger = logging.getLogger(__name__)

COPY_MAX_AGE = timedelta(minutes=15)
RETRY_DELAY = timedelta(seconds=30)
SCRIPT = Limits(max_bytes=5 * MIB, total_seconds=5, connect_seconds=2)
SCOPES = (ScriptTag.DisplayScope.ONLINE_STORE, ScriptTag.DisplayScope.ORDER_STATUS)

# JavaScript that waits until the page has loaded, and then runs the scripts in the order of the list.
_LOADER = """(function () {
  var sources = %s;
  function load() {
    sources.forEach(function (source) {
      var script = document.createElement("script");
      script.src = source;
      script.async = false;
      document.head.appendChild(script);
    });
  }
  if (document.readyState === "complete") { load(); } else { window.addEventListener("load", load); }
})();
"""


class ScriptUnavailable(Exception):
    """Raised when a script cannot be downloaded and there is no earlier copy."""


def is_vintage(theme: Theme) -> bool:
    """Return True if the theme has no JSON templates. Themes with JSON templates do not load script tags."""
    return not Asset.objects.filter(theme=theme, key__startswith="templates/", key__endswith=".json").exists()


def render_script_loader(scope: str) -> str:
    main = Theme.objects.filter(role=Theme.Role.MAIN).first()
    shop, sources = get_current_shop(), []
    if main is not None and is_vintage(main):
        tags = ScriptTag.objects.filter(display_scope__in=(scope, ScriptTag.DisplayScope.ALL)).order_by("id")
        sources = [get_storefront_url(shop, f"scripts/{tag.pk}.js") if tag.cache else tag.src for tag in tags]
    # Escape "<", so that "</script>" in a URL cannot end an inline script.
    return _LOADER % json.dumps(sources, indent=2).replace("<", "\\u003c")


def get_cached_script(tag: ScriptTag, *, at: datetime) -> bytes:
    """Return a copy of a script that is at most 15 minutes old if the script's server responds.

    If the copy has expired, one of several concurrent requests downloads the script. The others return the old copy.
    """
    expired: Attrs = {"content": None, "fetched_at": None, "tried_at": at - COPY_MAX_AGE - RETRY_DELAY}
    copy, _ = ScriptCopy.objects.select_related("content").get_or_create(
        tag=tag, defaults={"shop": tag.shop, "src": tag.src, **expired}
    )
    if copy.src != tag.src:
        ScriptCopy.objects.filter(pk=copy.pk, src=copy.src).update(src=tag.src, **expired)
        copy.refresh_from_db()
    if _claim_download(copy, at):
        _download_copy(copy, at)
    if copy.content is None:
        raise ScriptUnavailable(copy.error)
    try:
        return blob_store.read_blob(copy.content)
    except StorageFailed as failure:
        # Mark the copy as expired, so that the next request downloads the script again.
        ScriptCopy.objects.filter(pk=copy.pk, content=copy.content).update(**expired)
        raise ScriptUnavailable(failure.sentence) from failure


def _claim_download(copy: ScriptCopy, at: datetime) -> bool:
    """Return True for exactly one of several concurrent requests, which must then download the script."""
    # Times in the future were stored while the clock was fast.
    is_due = Q(fetched_at=None) | Q(fetched_at__lte=at - COPY_MAX_AGE) | Q(fetched_at__gt=at + COPY_MAX_AGE)
    may_try = Q(tried_at__lte=at - RETRY_DELAY) | Q(tried_at__gt=at + RETRY_DELAY)
    claimed = ScriptCopy.objects.filter(is_due, may_try, pk=copy.pk).update(tried_at=at)
    return bool(claimed)


def _download_copy(copy: ScriptCopy, at: datetime) -> None:
    try:
        with download_file(copy.src, limits=SCRIPT, schemes=("https", "http")) as download:
            content = blob_store.store_blob(download.file.read())
    except HttpRequestFailed as error:
        logger.warning("Could not download script %s: %s", copy.src, error)
        copy.error = str(error)
        ScriptCopy.objects.filter(pk=copy.pk).update(error=copy.error)
        return
    with transaction.atomic():
        ScriptCopy.objects.filter(pk=copy.pk, src=copy.src).update(content=content, fetched_at=at, error="")
    copy.content = content
