"""What becomes of script tags when their app is uninstalled."""

from datetime import datetime

from apps.content.models import ScriptTag
from apps.events.domain.recording import record_event
from apps.shops.models import Installation


def remove_script_tags(installation: Installation, at: datetime) -> None:
    """Delete the script tags of an app that is being uninstalled.

    Rule: spec part A, ScriptTag.
    """
    for tag in ScriptTag.objects.filter(app_id=installation.app_id).order_by("id"):
        record_event("script_tags/delete", tag, actor="system", at=at)
        tag.delete()
