"""Event topics for staff."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.events.domain import topics
from apps.staff.models import Membership


def _payload(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, Membership)
    user = instance.user
    return {"id": user.pk, "email": user.email, "account_owner": instance.account_owner}


def register_staff_topics() -> None:
    for name, label in (
        ("staff/invite", gettext_noop("Staff member invited")),
        ("staff/update", gettext_noop("Permissions changed")),
        ("staff/remove", gettext_noop("Staff member removed")),
        ("staff/activate", gettext_noop("Staff member activated")),
        ("staff/deactivate", gettext_noop("Staff member deactivated")),
        ("staff/login_failed", gettext_noop("Login failed")),
        ("staff/login_locked", gettext_noop("Login locked after failed attempts")),
        ("staff/refused", gettext_noop("Access denied")),
    ):
        topics.register_topic(name, scope="read_users", render=_payload, label=label, offered=False)
