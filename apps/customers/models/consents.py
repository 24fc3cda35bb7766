"""What customers agreed to, and when."""

from django.db import models

from apps.ground.rows import ShopOwned


class ConsentState(models.TextChoices):
    """Whether a customer wants marketing messages on a channel."""

    NOT_SUBSCRIBED = "not_subscribed", "Not subscribed"
    PENDING = "pending", "Waiting for confirmation"
    SUBSCRIBED = "subscribed", "Subscribed"
    UNSUBSCRIBED = "unsubscribed", "Unsubscribed"
    REDACTED = "redacted", "Erased"
    INVALID = "invalid", "Not reachable"


class OptInLevel(models.TextChoices):
    """How sure it is that the consent came from the customer."""

    SINGLE = "single_opt_in", "Single opt-in"
    CONFIRMED = "confirmed_opt_in", "Confirmed opt-in"
    UNKNOWN = "unknown", "Unknown"


class ConsentChange(ShopOwned):
    """One step in the history of a customer's consent; never changed."""

    class Channel(models.TextChoices):
        EMAIL = "email", "E-mail"
        SMS = "sms", "Text message"

    customer = models.ForeignKey(
        "customers.Customer", on_delete=models.CASCADE, related_name="consent_changes", editable=False
    )
    channel = models.CharField(max_length=5, choices=Channel)
    state = models.CharField(max_length=20, choices=ConsentState)
    opt_in_level = models.CharField(max_length=20, choices=OptInLevel, blank=True)
    collected_from = models.CharField(max_length=50, blank=True)
    consent_updated_at = models.DateTimeField(null=True)
    actor = models.CharField(max_length=100)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.get_channel_display()}: {self.get_state_display()}"
