"""How script tags reach a shop's pages: one loader per shop, and our own copies of the scripts that ask for one.

Rule: decisions, Script tags.
"""

import json
import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from apps.content.domain import contents
from apps.content.domain.addresses import storefront_url
from apps.content.models import Asset, ScriptCopy, ScriptTag, Theme
from apps.ground.tenancy import current_shop
from apps.media.storage import StorageFailed
from apps.outgoing.client import MIB, Limits, fetch
from apps.outgoing.errors import FetchFailed
from apps.shops.models import Shop

logger = logging.getLogger(__name__)

FRESH = timedelta(minutes=15)
RETRY = timedelta(seconds=30)
SCRIPT = Limits(max_bytes=5 * MIB, total_seconds=5, connect_seconds=2)
SCOPES = (ScriptTag.DisplayScope.ONLINE_STORE, ScriptTag.DisplayScope.ORDER_STATUS)

# Scripts run in the order of the list, once the page has loaded.
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
    """The script's origin does not answer, and there is no earlier copy."""


def is_vintage(theme: Theme) -> bool:
    """Whether a theme is of the kind that loads script tags: one without JSON templates."""
    return not Asset.objects.filter(theme=theme, key__startswith="templates/", key__endswith=".json").exists()


def loader(scope: str) -> str:
    """The script that loads the tags of a display scope, in their order."""
    main = Theme.objects.filter(role=Theme.Role.MAIN).first()
    tags = ScriptTag.objects.filter(display_scope__in=(scope, ScriptTag.DisplayScope.ALL)).order_by("id")
    shop = current_shop()
    sources = [_source(shop, tag) for tag in tags] if main is not None and is_vintage(main) else []
    # As a part of a page's script, "</script>" in a source must not end it.
    return _LOADER % json.dumps(sources, indent=2).replace("<", "\\u003c")


def _source(shop: Shop, tag: ScriptTag) -> str:
    return storefront_url(shop, f"scripts/{tag.pk}.js") if tag.cache else tag.src


def cached_script(tag: ScriptTag, *, at: datetime) -> bytes:
    """Our copy of a script, at most 15 minutes old where its origin answers.

    Of several readers of a copy that has grown old one fetches, and the others get the old copy.

    Raises:
        ScriptUnavailable: There is no copy, and none can be had.
    """
    copy, _ = ScriptCopy.objects.select_related("content").get_or_create(
        tag=tag, defaults={"shop": tag.shop, "src": tag.src, "tried_at": at - FRESH - RETRY}
    )
    if copy.src != tag.src:
        ScriptCopy.objects.filter(pk=copy.pk, src=copy.src).update(
            src=tag.src, content=None, fetched_at=None, tried_at=at - FRESH - RETRY
        )
        copy.refresh_from_db()
    if _may_try(copy, at):
        _refresh(copy, at)
    if copy.content is None:
        raise ScriptUnavailable(copy.error)
    try:
        return contents.read(copy.content)
    except StorageFailed as failure:
        # The origin still has it: the next reader fetches it again.
        ScriptCopy.objects.filter(pk=copy.pk, content=copy.content).update(
            content=None, fetched_at=None, tried_at=at - FRESH - RETRY
        )
        raise ScriptUnavailable(failure.sentence) from failure


def _may_try(copy: ScriptCopy, at: datetime) -> bool:
    """Whether this reader is the one to fetch: the guard is in the update."""
    due = Q(fetched_at=None) | Q(fetched_at__lte=at - FRESH)
    mine = ScriptCopy.objects.filter(due, pk=copy.pk, tried_at__lte=at - RETRY).update(tried_at=at)
    return bool(mine)


def _refresh(copy: ScriptCopy, at: datetime) -> None:
    try:
        with fetch(copy.src, limits=SCRIPT, schemes=("https", "http")) as download:
            content = contents.store(download.file.read())
    except FetchFailed as error:
        logger.warning("Script %s could not be fetched: %s", copy.src, error)
        copy.error = str(error)
        ScriptCopy.objects.filter(pk=copy.pk).update(error=copy.error)
        return
    with transaction.atomic():
        ScriptCopy.objects.filter(pk=copy.pk, src=copy.src).update(content=content, fetched_at=at, error="")
    copy.content = content
