"""The customer of an order: shown in short, named or described on the way in."""

from apps.api.resources.fields import Render, TagsField
from apps.api.resources.members import ObjectField
from apps.api.resources.related import Row
from apps.api.resources.serializers import Resource
from apps.customers.api.customers import CustomerSerializer
from apps.customers.api.fields import ConsentField
from apps.orders.api.fields import flag, string, whole


class ReachableConsent(ConsentField):
    """A consent, as far as there is a phone that it could be for."""

    def columns(self) -> tuple[str, ...]:
        """The columns of the consent, and the phone."""
        return ("phone", *super().columns())

    def reader(self) -> Render:
        """The object; null without a phone."""
        show = super().reader()
        return lambda context, phone, *columns: show(context, *columns) if phone else None


class BuyerSerializer(CustomerSerializer):
    """The customer of an order, without the summary of orders and the list of addresses."""

    sms_marketing_consent = ReachableConsent("sms")

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


class BuyerField(Row):
    """The customer: shown always; named, described or taken away on the way in."""

    def __init__(self, serializer: Resource, relation: str) -> None:
        """It may be absent and null."""
        super().__init__(serializer, relation)
        self.read_only = False
        self.required = False
        self.allow_null = True
        self.taken = _BUYER

    def to_internal_value(self, data: object) -> object:
        """The id, or the contact details."""
        if not isinstance(data, dict):
            self.fail("invalid")
        return _BUYER.run_validation(data)


_BUYER = ObjectField(
    {
        "id": whole(1, 2**63 - 1),
        "email": string(),
        "phone": string(),
        "first_name": string(),
        "last_name": string(),
        "note": string(5000),
        "tags": TagsField(),
        "tax_exempt": flag(),
        "verified_email": flag(),
    }
)
