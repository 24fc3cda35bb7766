"""Store the feedback of apps. Feedback replaces the app's earlier feedback about the same resource."""

from datetime import datetime
from typing import TypeVar

from django.db import transaction

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.core.tenancy.models import Installation
from apps.core.types import Attrs
from apps.shops.domain.app_installation import lock_active
from apps.shops.models import ResourceFeedback

F = TypeVar("F", bound=ResourceFeedback)
_OUTDATED = define_text("feedback.outdated", "is before the time of the current feedback")


class OutdatedFeedback(DomainError):
    field = "feedback_generated_at"


@transaction.atomic(savepoint=False)
def save_feedback(model: type[F], installation: Installation, attrs: Attrs, **resource: int) -> F:
    """Store feedback about the shop or about a resource such as ``product_id=7``.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
        OutdatedFeedback: The app has already sent later feedback.
    """
    # The lock also makes concurrent feedback of the app wait, so the later feedback wins.
    lock_active(installation.app_id)
    row = model._default_manager.filter(app_id=installation.app_id, **resource).first()
    if row is None:
        row = model(shop_id=installation.shop_id, app_id=installation.app_id, **resource)
    elif attrs["feedback_generated_at"] < row.feedback_generated_at:
        raise OutdatedFeedback(_OUTDATED)
    for name, value in attrs.items():
        setattr(row, name, value)
    row.save()
    return row


def delete_feedback(model: type[ResourceFeedback], installation: Installation, at: datetime) -> None:
    """Delete the feedback of an app that is being uninstalled."""
    model._default_manager.filter(app_id=installation.app_id).delete()
