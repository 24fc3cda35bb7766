from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.core.tenancy.models import Membership


def _payload(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, Membership)
    user = instance.user
    return {"id": user.pk, "email": user.email, "account_owner": instance.account_owner}


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
    topics.add(Topic(name=name, scopes=("read_users",), render=_payload, label=label, is_offered=False))
