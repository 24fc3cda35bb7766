"""Request body for an invitation."""

from apps.core.rest.resources.serializers import ResourceSerializer
from apps.customers.api.fields import BlankAsNullTextField, TextListField
from apps.customers.models import Invitation


class InviteSerializer(ResourceSerializer[Invitation]):
    """The body of ``send_invite``."""

    id = None
    to = BlankAsNullTextField(max_length=255)
    # ``from`` is a Python keyword, so the class body cannot assign it.
    locals()["from"] = BlankAsNullTextField(max_length=255)
    subject = BlankAsNullTextField(max_length=255)
    custom_message = BlankAsNullTextField(max_length=5000)
    bcc = TextListField()

    class Meta:
        model = Invitation
