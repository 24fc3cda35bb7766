"""The customer of an order: a summary in responses, an id or contact details in requests."""

from apps.api.resources.fields import Render, TagsField
from apps.api.resources.nested_objects import ObjectField
from apps.api.resources.nested_rows import NestedObject
from apps.api.resources.serializers import Resource
from apps.customers.api.customers import CustomerSerializer
from apps.customers.api.fields import ConsentField
from apps.orders.api.fields import nullable_bool, nullable_integer, nullable_text


class PhoneConsentField(ConsentField):
    """A marketing consent field that returns null for customers without a phone number."""

    def get_columns(self) -> tuple[str, ...]:
        """Return the phone column and the consent columns."""
        return ("phone", *super().get_columns())

    def get_renderer(self) -> Render:
        """Return a renderer that outputs null for customers without a phone number."""
        show = super().get_renderer()
        return lambda context, phone, *columns: show(context, *columns) if phone else None


class OrderCustomerSerializer(CustomerSerializer):
    """The customer of an order, without order totals and address list."""

    sms_marketing_consent = PhoneConsentField("sms")

    class Meta(CustomerSerializer.Meta):
        fields = (
            "id",
            "email",
            "created_at",
            "updated_at",
            "first_name",
            "last_name",
            "state",
            "note",
            "verified_email",
            "multipass_identifier",
            "tax_exempt",
            "phone",
            "email_marketing_consent",
            "sms_marketing_consent",
            "tags",
            "currency",
            "tax_exemptions",
            "admin_graphql_api_id",
            "default_address",
        )


class OrderCustomerField(NestedObject):
    """A field for the customer of an order. It accepts an id, contact details or null."""

    def __init__(self, serializer: Resource, relation: str) -> None:
        """Make the field optional and nullable."""
        super().__init__(serializer, relation)
        self.read_only = False
        self.required = False
        self.allow_null = True
        self.body_field = _CUSTOMER_FIELD

    def to_internal_value(self, data: object) -> object:
        """Parse the id or the contact details."""
        if not isinstance(data, dict):
            self.fail("invalid")
        return _CUSTOMER_FIELD.run_validation(data)


_CUSTOMER_FIELD = ObjectField(
    {
        "id": nullable_integer(1, 2**63 - 1),
        "email": nullable_text(),
        "phone": nullable_text(),
        "first_name": nullable_text(),
        "last_name": nullable_text(),
        "note": nullable_text(5000),
        "tags": TagsField(),
        "tax_exempt": nullable_bool(),
        "verified_email": nullable_bool(),
    }
)
