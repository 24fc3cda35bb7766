"""Create, update and delete the legal texts of a shop."""

from datetime import datetime

from django.db import transaction
from django.utils import translation

from apps.content.models import Policy
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop


@transaction.atomic
def create_policy(*, handle: str, body: str, actor: str, at: datetime) -> Policy:
    policy: Policy = Policy.objects.create(shop=get_current_shop(), handle=handle, body=body, created_at=at)
    record_event("policies/create", policy, actor=actor, at=at)
    return policy


@transaction.atomic
def update_policy(policy: Policy, *, body: str, actor: str, at: datetime) -> None:
    refresh_for_update(policy, no_key=True)
    if changes := apply_changes(policy, {"body": body}):
        policy.save(update_fields=list(changes))
        record_event("policies/update", policy, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_policy(policy: Policy, *, actor: str, at: datetime) -> None:
    refresh_for_update(policy)
    record_event("policies/delete", policy, actor=actor, at=at)
    policy.delete()


def get_policy_title(handle: str) -> str:
    """Return the title for apps. The API is in English."""
    with translation.override("en"):
        return str(Policy.Handle(handle).label)


def get_policy_url(shop: Shop, handle: str) -> str:
    return f"https://{shop.domain}/policies/{handle}"
