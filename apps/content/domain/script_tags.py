"""Create script tags for apps, and delete them when an app is uninstalled."""

from datetime import datetime

from apps.content.models import ScriptTag
from apps.events.domain.recording import record_event
from apps.ground.types import Attrs
from apps.shops.models import Installation


def create_script_tag(installation: Installation, attrs: Attrs, *, actor: str, at: datetime) -> ScriptTag:
    """Create a script tag for an installed app.

    Args:
        installation: The installation of the app.
        attrs: Validated columns of ``ScriptTag``.
        actor: The actor of the event.
        at: The time of the event.
    """
    tag = ScriptTag.objects.create(shop_id=installation.shop_id, app_id=installation.app_id, **attrs)
    record_event("script_tags/create", tag, actor=actor, at=at)
    return tag


def delete_script_tags(installation: Installation, at: datetime) -> None:
    """Delete the script tags of an app that is being uninstalled."""
    for tag in ScriptTag.objects.filter(app_id=installation.app_id).order_by("id"):
        record_event("script_tags/delete", tag, actor="system", at=at)
        tag.delete()
