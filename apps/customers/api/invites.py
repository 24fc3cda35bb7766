"""The body of an invitation."""

from apps.api.resources.serializers import ResourceSerializer
from apps.customers.api.fields import BlankableText, TextsField
from apps.customers.models import Invitation


class InviteSerializer(ResourceSerializer[Invitation]):
    """An invitation as the interface takes it."""

    id = None
    to = BlankableText(max_length=255)
    # A keyword of Python.
    locals()["from"] = BlankableText(max_length=255)
    subject = BlankableText(max_length=255)
    custom_message = BlankableText(max_length=5000)
    bcc = TextsField()

    class Meta:
        model = Invitation
