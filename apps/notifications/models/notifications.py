"""Notifications of a shop, and what each staff member wants to see and has seen."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.tenancy.models import Membership
from apps.core.tenancy.shop_owned import ShopOwned

MAX_KIND = 30


class Notification(ShopOwned):
    """Something that happened in a shop and that staff may want to know, such as a new order.

    There is one row for all staff members. ``kind`` is a name in the registry ``kinds``, and ``subject_id`` the id of
    the order, item or subscription. ``batched_at`` is the time of the batch of emails that reported the notification,
    or null while the notification waits for the next batch.
    """

    kind = models.CharField(max_length=MAX_KIND)
    subject_id = models.BigIntegerField()
    actor = models.CharField(max_length=100)
    batched_at = models.DateTimeField(null=True)

    non_personal_fields = ("kind", "actor")

    class Meta:
        verbose_name = gettext_lazy("notification")
        verbose_name_plural = gettext_lazy("notifications")
        indexes = (
            models.Index(fields=("shop", "kind", "id"), name="notifications_by_kind"),
            models.Index(fields=("shop", "kind", "batched_at", "id"), name="notifications_by_batch"),
            models.Index(fields=("shop", "kind"), condition=Q(batched_at=None), name="notifications_unbatched"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"


class Preference(ShopOwned):
    """How a staff member wants to learn of a kind of notification. Without a row, the defaults of the fields apply.

    The row belongs to the membership, so it is deleted when the member is removed from the shop.
    """

    member = models.ForeignKey(
        Membership,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        verbose_name=gettext_lazy("staff member"),
    )
    kind = models.CharField(max_length=MAX_KIND)
    panel = models.BooleanField(default=True)
    sound = models.BooleanField(default=False)
    browser = models.BooleanField(default=False)
    email = models.BooleanField(default=False)

    non_personal_fields = ("kind",)

    class Meta:
        verbose_name = gettext_lazy("notification preference")
        constraints = (
            models.UniqueConstraint(fields=("shop", "member", "kind"), name="notifications_preference_once"),
        )
        indexes = (models.Index(fields=("shop", "kind"), condition=Q(email=True), name="notifications_pref_emails"),)

    def __str__(self) -> str:
        return f"{self.kind} of member {self.member_id}"


class SeenMark(ShopOwned):
    """The newest notification of a kind that a staff member has seen by opening the list of its objects."""

    member = models.ForeignKey(
        Membership,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        verbose_name=gettext_lazy("staff member"),
    )
    kind = models.CharField(max_length=MAX_KIND)
    seen_through = models.BigIntegerField(default=0)

    non_personal_fields = ("kind",)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("shop", "member", "kind"), name="notifications_seenmark_once"),)

    def __str__(self) -> str:
        return f"{self.kind} of member {self.member_id}: {self.seen_through}"
