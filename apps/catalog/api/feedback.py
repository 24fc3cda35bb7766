from apps.catalog.models import Product, ProductFeedback
from apps.core.rest.resources.fields import ChoiceField, ConstantField, DateTimeField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.types import Attrs, Errors
from apps.shops.api.feedback import FeedbackViewSet, MessagesField, validate_messages
from apps.shops.models import FeedbackState


class ProductFeedbackSerializer(ResourceSerializer[ProductFeedback]):
    id = None
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    resource_id = ReadOnlyColumn("product_id")
    resource_type = ConstantField("Product")
    resource_updated_at = DateTimeField(required=True)
    messages = MessagesField()
    feedback_generated_at = DateTimeField(required=True)
    state = ChoiceField(choices=FeedbackState.choices)

    def validate_across_fields(self, attrs: Attrs, instance: ProductFeedback | None, errors: Errors) -> None:
        validate_messages(attrs, errors)


class ProductFeedbackViewSet(FeedbackViewSet[ProductFeedback]):
    serializer_class = ProductFeedbackSerializer
    parents = {"product_id": Product}
