"""The body of an invitation."""

from typing import Any

from apps.api.resources.fields import ApiField, TextField
from apps.api.resources.serializers import ResourceSerializer
from apps.customers.api.fields import TextsField
from apps.customers.models import Invitation


class InviteSerializer(ResourceSerializer[Invitation]):
    """An invitation as the interface takes it."""

    class Meta:
        model = Invitation
        fields: tuple[str, ...] = ()

    def get_fields(self) -> dict[str, Any]:
        """The fields; one of them has the name of a Python keyword."""
        optional = {"required": False, "allow_null": True, "allow_blank": True}
        fields: dict[str, ApiField] = {
            "to": TextField(max_length=255, **optional),
            "from": TextField(max_length=255, **optional),
            "subject": TextField(max_length=255, **optional),
            "custom_message": TextField(max_length=5000, **optional),
            "bcc": TextsField(),
        }
        return fields
