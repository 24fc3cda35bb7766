"""Serializers and views for the feedback of apps about the shop. Each app can access only its own feedback."""

from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import BLANK
from apps.core.rest.resources.fields import (
    ChoiceField,
    ConstantField,
    DateTimeField,
    ModelDerivedField,
    ReadOnlyColumn,
    TextField,
)
from apps.core.rest.resources.nested_objects import ValueListField
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors
from apps.shops.domain import feedback
from apps.shops.models import FeedbackState, ResourceFeedback, ShopFeedback

F = TypeVar("F", bound=ResourceFeedback)
MAX_MESSAGES = 10
MAX_MESSAGE_LENGTH = 100


class MessagesField(ValueListField):
    schema = {"type": "array", "items": {"type": "string"}}

    def __init__(self) -> None:
        super().__init__(TextField(max_length=MAX_MESSAGE_LENGTH), most=MAX_MESSAGES, allow_null=False, default=list)

    def __deepcopy__(self, memo: dict[int, object]) -> "MessagesField":
        return MessagesField()


def validate_messages(attrs: Attrs, errors: Errors) -> None:
    """Require a message if an action is required, because staff would not know what to do."""
    is_invalid = any(name.split(".")[0] == "messages" for name in errors)
    if attrs.get("state") == FeedbackState.REQUIRES_ACTION and not attrs.get("messages") and not is_invalid:
        errors["messages"] = [BLANK]
    if attrs.get("state") == FeedbackState.SUCCESS:
        attrs["messages"] = []


class ShopFeedbackSerializer(ResourceSerializer[ShopFeedback]):
    id = None
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    resource_id = ReadOnlyColumn("shop_id")
    resource_type = ConstantField("Shop")
    resource_updated_at = ConstantField(None)
    messages = MessagesField()
    feedback_generated_at = DateTimeField(required=True)
    state = ChoiceField(choices=FeedbackState.choices)

    def validate_across_fields(self, attrs: Attrs, instance: ShopFeedback | None, errors: Errors) -> None:
        validate_messages(attrs, errors)


class FeedbackViewSet(ShopViewSet[F]):
    """The base class for views of feedback. A new feedback replaces the earlier one."""

    scope = "resource_feedbacks"
    singular = "resource_feedback"
    plural = "resource_feedback"
    success_statuses = {"create": 202}

    def get_queryset(self) -> QuerySet[F]:
        return super().get_queryset().filter(app_id=self.access.installation.app_id)

    def create(self, request: Request, **_: int) -> HttpResponse:
        """Store the feedback of the calling app. Staff see it in the panel."""
        attrs = self.get_validated_attributes()
        with transaction.atomic():
            row = feedback.save_feedback(self.model, self.access.installation, attrs, **self.kwargs)
            return self.render_object(row.pk, 202)


class ShopFeedbackViewSet(FeedbackViewSet[ShopFeedback]):
    serializer_class = ShopFeedbackSerializer
