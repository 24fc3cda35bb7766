from django.utils import timezone

from apps.content.models import Article, Page
from apps.core.types import Attrs


def set_published_at(attrs: Attrs, instance: Article | Page | None) -> None:
    """Set ``published_at`` from ``published``.

    ``false`` hides the object. ``true`` publishes the object now, unless it is already published.
    """
    published = attrs.pop("published", None)
    if instance is not None and "published_at" in attrs and published == (instance.published_at is not None):
        # Clients often send a whole object back. If ``published`` repeats the current state, only ``published_at``
        # applies.
        published = None
    now = timezone.now()
    if published is False:
        attrs["published_at"] = None
    elif published and attrs.get("published_at") is None:
        visible = instance is not None and instance.published_at is not None and instance.published_at <= now
        attrs["published_at"] = instance.published_at if visible and instance else now
    elif instance is None:
        attrs.setdefault("published_at", now)
