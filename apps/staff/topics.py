"""What happens to the staff of a shop."""

from typing import Any

from django.db.models import Model

from apps.events.domain import topics
from apps.staff.models import Membership


def _payload(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, Membership)
    user = instance.user
    return {"id": user.pk, "email": user.email, "account_owner": instance.account_owner}


def register_all() -> None:
    """Add the topics."""
    for name, label in (
        ("staff/invite", "Staff member invited"),
        ("staff/update", "Permissions changed"),
        ("staff/remove", "Staff member removed"),
        ("staff/activate", "Staff member activated"),
        ("staff/deactivate", "Staff member deactivated"),
        ("staff/login_failed", "Login failed"),
        ("staff/login_locked", "Login locked after failed attempts"),
        ("staff/refused", "Access refused"),
    ):
        topics.register(name, scope="read_users", render=_payload, label=label, offered=False)
