"""The event model: what changed in a shop, who changed it and when.

A row is written in the same transaction as the change. The table is the audit log, the source of timelines and the
outbox of webhooks. Event rows are not changed or deleted while the shop exists, except for redaction.
"""

import uuid6
from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.messages import MessageField, translate
from apps.core.tenancy.shop_owned import ShopOwned


class Event(ShopOwned):
    """A change of one resource.

    ``payload`` contains the rendered resource for each API version that a subscription uses. Without a subscription,
    the payload is empty. ``changes`` is ``{field: [before, after]}`` for the audit log, without secrets.
    """

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(default=uuid6.uuid7, unique=True, editable=False)
    topic = models.CharField(gettext_lazy("topic"), max_length=100)
    subject_type = models.CharField(max_length=60)
    subject_id = models.BigIntegerField()
    subject_label = models.CharField(max_length=255, blank=True, help_text="The English label, for searches and apps.")
    coded_label = MessageField(db_default="", help_text="The label as a message, if the object has no name of its own.")
    actor = models.CharField(max_length=100)
    message = MessageField()
    changes = models.JSONField(gettext_lazy("changes"), default=dict)
    payload = models.JSONField(gettext_lazy("payload"), null=True)
    group = models.UUIDField(help_text="Shared by all events of one action of one actor.")
    request_id = models.CharField(max_length=36, blank=True)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(editable=False)

    personal_fields = ("changes", "payload", "address")
    non_personal_fields = ("topic", "subject_type", "subject_label", "coded_label", "actor", "message", "request_id")

    class Meta:
        verbose_name = gettext_lazy("event")
        verbose_name_plural = gettext_lazy("events")
        indexes = (
            models.Index(fields=("shop", "id"), name="events_event_by_shop"),
            models.Index(fields=("shop", "subject_type", "subject_id", "id"), name="events_event_timeline"),
            models.Index(fields=("shop", "topic", "id"), name="events_event_by_topic"),
            models.Index(fields=("shop", "actor", "id"), name="events_event_by_actor"),
            models.Index(fields=("shop", "created_at", "id"), name="events_event_by_time"),
            # ``acts`` uses the following four indexes.
            models.Index(fields=("shop", "group", "id"), name="events_event_by_act"),
            models.Index(
                fields=("shop", "group"), condition=~models.Q(actor="system"), name="events_event_acts_by_people"
            ),
            models.Index(fields=("shop", "actor", "group"), name="events_event_acts_by_actor"),
            models.Index(fields=("shop", "subject_type", "group"), name="events_event_acts_by_kind"),
            # The payload cleanup uses this index. The index is small, because only recent events have a payload.
            models.Index(fields=("id",), condition=models.Q(payload__isnull=False), name="events_event_rendered"),
        )

    def __str__(self) -> str:
        return f"{self.topic} #{self.subject_id}"

    @property
    def label(self) -> str:
        """Return the label of the subject in the active language."""
        return translate(self.coded_label) or self.subject_label
