"""The body of an invitation."""

from apps.api.resources.fields import TextField
from apps.api.resources.serializers import ResourceSerializer
from apps.customers.api.fields import TextsField
from apps.customers.models import Invitation

_OPTIONAL = {"required": False, "allow_null": True, "allow_blank": True}


class InviteSerializer(ResourceSerializer[Invitation]):
    """An invitation as the interface takes it."""

    id = None
    to = TextField(max_length=255, **_OPTIONAL)
    # A keyword of Python.
    locals()["from"] = TextField(max_length=255, **_OPTIONAL)
    subject = TextField(max_length=255, **_OPTIONAL)
    custom_message = TextField(max_length=5000, **_OPTIONAL)
    bcc = TextsField()

    class Meta:
        model = Invitation
