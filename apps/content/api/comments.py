from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.validators import validate_ipv46_address
from django.db import transaction
from django.http import HttpResponse
from django.utils.html import linebreaks
from rest_framework.request import Request

from apps.content.domain import comments
from apps.content.models import Comment
from apps.core.i18n.error_messages import INVALID
from apps.core.rest.requests.views import BARE
from apps.core.rest.resources.fields import ComputedField, EmailField, IntegerField, ModelDerivedField, TextField
from apps.core.rest.resources.filters import (
    ChoiceFilter,
    DateTimeFilter,
    IdFilter,
    PublishedFilter,
    ResourceFilter,
)
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors

MAX_BODY = 10_000
Moderate = Callable[..., None]


def _check_ip(text: str) -> None:
    try:
        validate_ipv46_address(text)
    except ValidationError:
        raise ValidationError(INVALID) from None


class CommentSerializer(ResourceSerializer[Comment]):
    body = TextField(max_length=MAX_BODY)
    body_html = ComputedField(lambda _context, body: linebreaks(body, autoescape=True), "body")
    author = TextField(max_length=255)
    email = EmailField(max_length=255)
    status = ModelDerivedField(read_only=True)
    article_id = IntegerField()
    blog_id = IntegerField(required=False)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    ip = TextField(max_length=45, required=False, allow_null=True, validators=[_check_ip])
    user_agent = TextField(max_length=1000, required=False, allow_null=True)
    published_at = ModelDerivedField()

    def validate_across_fields(self, attrs: Attrs, instance: Comment | None, errors: Errors) -> None:
        """Keep the article of an existing comment, and what is known of its author's browser."""
        if instance is not None:
            for name in ("article_id", "blog_id", "ip", "user_agent"):
                attrs.pop(name, None)


class CommentFilter(ResourceFilter):
    article_id = IdFilter("article_id")
    blog_id = IdFilter("blog_id")
    status = ChoiceFilter("status", words=Comment.Status.values)
    published_at_min = DateTimeFilter("published_at", "gte")
    published_at_max = DateTimeFilter("published_at", "lte")
    published_status = PublishedFilter()


class CommentViewSet(ShopViewSet[Comment]):
    scope = "content"
    serializer_class = CommentSerializer
    filterset_class = CommentFilter
    singular = "comment"
    version_columns = ("version",)
    responses = dict.fromkeys(("approve", "spam", "not_spam", "remove", "restore"), BARE)

    def perform_create(self, attrs: Attrs) -> Comment:
        return comments.create_comment(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: Comment, attrs: Attrs) -> None:
        comments.update_comment(instance, attrs, actor=self.actor, at=self.at)

    def approve(self, request: Request, **_: int) -> HttpResponse:
        """Publish a comment."""
        return self._moderate(comments.approve_comment)

    def spam(self, request: Request, **_: int) -> HttpResponse:
        """Mark a comment as spam."""
        return self._moderate(comments.mark_as_spam)

    def not_spam(self, request: Request, **_: int) -> HttpResponse:
        """Return a comment from spam."""
        return self._moderate(comments.mark_as_not_spam)

    def remove(self, request: Request, **_: int) -> HttpResponse:
        """Remove a comment."""
        return self._moderate(comments.remove_comment)

    def restore(self, request: Request, **_: int) -> HttpResponse:
        """Restore a removed comment."""
        return self._moderate(comments.restore_comment)

    def _moderate(self, moderate: Moderate) -> HttpResponse:
        """Change the status of a comment, and return the comment without a surrounding object."""
        with transaction.atomic():
            comment = self.get_object()
            moderate(comment, actor=self.actor, at=self.at)
            return self.json_response(self.get_read_plan().read_one(comment.pk, self.context))
