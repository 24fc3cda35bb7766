from django.db import models
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned


class ConsentState(models.TextChoices):
    NOT_SUBSCRIBED = "not_subscribed", gettext_lazy("Not subscribed")
    PENDING = "pending", gettext_lazy("Waiting for confirmation")
    SUBSCRIBED = "subscribed", gettext_lazy("Subscribed")
    UNSUBSCRIBED = "unsubscribed", gettext_lazy("Unsubscribed")
    REDACTED = "redacted", pgettext_lazy("consent", "Erased")
    INVALID = "invalid", gettext_lazy("Not reachable")


class OptInLevel(models.TextChoices):
    SINGLE = "single_opt_in", gettext_lazy("Single opt-in")
    CONFIRMED = "confirmed_opt_in", gettext_lazy("Confirmed opt-in")
    UNKNOWN = "unknown", gettext_lazy("Unknown")


class ConsentChange(ShopOwned):
    """One entry in the consent history of a customer. Entries are never changed."""

    class Channel(models.TextChoices):
        EMAIL = "email", gettext_lazy("Email")
        SMS = "sms", gettext_lazy("SMS")

    customer = models.ForeignKey(
        "customers.Customer", on_delete=models.CASCADE, related_name="consent_changes", editable=False
    )
    channel = models.CharField(gettext_lazy("channel"), max_length=5, choices=Channel)
    state = models.CharField(gettext_lazy("state"), max_length=20, choices=ConsentState)
    opt_in_level = models.CharField(gettext_lazy("opt-in level"), max_length=20, choices=OptInLevel, blank=True)
    collected_from = models.CharField(gettext_lazy("collected from"), max_length=50, blank=True)
    consent_updated_at = models.DateTimeField(gettext_lazy("consent updated at"), null=True)
    actor = models.CharField(max_length=100)

    non_personal_fields = ("collected_from", "actor")

    class Meta:
        verbose_name = gettext_lazy("consent change")
        verbose_name_plural = gettext_lazy("consent changes")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.get_channel_display()}: {self.get_state_display()}"
