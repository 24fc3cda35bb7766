from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.delete_preview import DeleteLabel, delete_labels
from apps.customers.admin import event_subjects
from apps.customers.admin.customers import CustomerAdmin
from apps.customers.models import Address, ConsentChange, Invitation

delete_labels.add(
    DeleteLabel(Address, gettext_lazy("address"), gettext_lazy("addresses")),
    DeleteLabel(ConsentChange, gettext_lazy("marketing consent entry"), gettext_lazy("marketing consent entries")),
    DeleteLabel(Invitation, gettext_lazy("invitation"), gettext_lazy("invitations")),
)
