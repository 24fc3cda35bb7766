"""Export and erase a customer's comments on articles. The email address connects comments and customers."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from apps.content.domain.comments import delete_comments
from apps.content.models import Comment
from apps.core.events.redaction import redact_events
from apps.core.types import Attrs
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.customers.models import Customer

_BATCH = 500


def export_comments(customer: Customer, after: int) -> Iterator[tuple[int, Attrs]]:
    """Yield a customer's comments with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    last = after
    while batch := list(_find_comments(customer).filter(pk__gt=last)[:_BATCH]):
        yield from ((comment.pk, _render(comment)) for comment in batch)
        last = batch[-1].pk


def redact_comments(customer: Customer, actor: str, at: datetime) -> None:
    """Delete a customer's comments, because the texts are personal and no bookkeeping needs them."""
    while ids := list(_find_comments(customer).values_list("pk", flat=True)[:_BATCH]):
        redact_events(Comment, ids)
        delete_comments(ids)


def _find_comments(customer: Customer) -> QuerySet[Comment]:
    if not customer.email_key:
        return Comment.objects.none()
    return Comment.objects.filter(email_key=customer.email_key).select_related("article").order_by("pk")


def _render(comment: Comment) -> Attrs:
    return {
        "article": comment.article.title,
        "author": comment.author,
        "email": comment.email,
        "body": comment.body,
        "ip": comment.ip,
        "user_agent": comment.user_agent,
        "status": comment.status,
        "created_at": comment.created_at.isoformat(),
    }


personal_data_parts.register("article_comments", PersonalData(export=export_comments, redact=redact_comments))
