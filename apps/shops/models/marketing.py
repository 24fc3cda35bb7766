"""The marketing campaigns that apps run for the shop, and what customers did each day."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned


class MarketingEvent(ShopOwned):
    """A marketing campaign, such as a newsletter or an ad. Each app has its own events, also while not installed."""

    class EventType(models.TextChoices):
        AD = "ad"
        POST = "post"
        MESSAGE = "message"
        RETARGETING = "retargeting"
        TRANSACTIONAL = "transactional"
        AFFILIATE = "affiliate"
        LOYALTY = "loyalty"
        NEWSLETTER = "newsletter"
        ABANDONED_CART = "abandoned_cart"

    class Channel(models.TextChoices):
        SEARCH = "search"
        DISPLAY = "display"
        SOCIAL = "social"
        EMAIL = "email"
        REFERRAL = "referral"

    class BudgetType(models.TextChoices):
        DAILY = "daily"
        LIFETIME = "lifetime"

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", editable=False)
    event_type = models.CharField(max_length=14, choices=EventType)
    remote_id = models.CharField(max_length=255, null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    scheduled_to_end_at = models.DateTimeField(null=True)
    budget = models.DecimalField(max_digits=15, decimal_places=3, null=True)
    currency = models.CharField(max_length=3, null=True)
    manage_url = models.URLField(max_length=2048, null=True)
    preview_url = models.URLField(max_length=2048, null=True)
    utm_campaign = models.CharField(max_length=255, null=True)
    utm_source = models.CharField(max_length=255, null=True)
    utm_medium = models.CharField(max_length=255, null=True)
    budget_type = models.CharField(max_length=8, choices=BudgetType, null=True)
    description = models.CharField(max_length=1000, null=True)
    marketing_channel = models.CharField(max_length=8, choices=Channel)
    paid = models.BooleanField()
    referring_domain = models.CharField(max_length=255, null=True)
    breadcrumb_id = models.CharField(max_length=255, null=True)
    marketed_resources = models.JSONField(default=list)

    non_personal_fields = (
        "remote_id",
        "currency",
        "manage_url",
        "preview_url",
        "utm_campaign",
        "utm_source",
        "utm_medium",
        "description",
        "referring_domain",
        "breadcrumb_id",
        "marketed_resources",
    )

    class Meta:
        verbose_name = gettext_lazy("marketing event")
        verbose_name_plural = gettext_lazy("marketing events")
        ordering = ("id",)
        indexes = (models.Index(fields=("shop", "app", "id"), name="shops_marketingevent_by_app"),)

    def __str__(self) -> str:
        return self.utm_campaign or self.event_type


class MarketingEngagement(ShopOwned):
    """What customers did with a marketing event on one day. Apps count themselves, so any figure may be missing.

    With ``is_cumulative``, the figures are totals since the beginning of the event.
    """

    marketing_event = models.ForeignKey(
        MarketingEvent, on_delete=models.CASCADE, related_name="engagements", editable=False, db_index=False
    )
    occurred_on = models.DateField()
    fetched_at = models.DateTimeField(null=True)
    views_count = models.PositiveBigIntegerField(null=True)
    impressions_count = models.PositiveBigIntegerField(null=True)
    clicks_count = models.PositiveBigIntegerField(null=True)
    favorites_count = models.PositiveBigIntegerField(null=True)
    comments_count = models.PositiveBigIntegerField(null=True)
    shares_count = models.PositiveBigIntegerField(null=True)
    ad_spend = models.DecimalField(max_digits=15, decimal_places=3, null=True)
    currency_code = models.CharField(max_length=3, null=True)
    is_cumulative = models.BooleanField()
    unsubscribes_count = models.PositiveBigIntegerField(null=True)
    complaints_count = models.PositiveBigIntegerField(null=True)
    fails_count = models.PositiveBigIntegerField(null=True)
    sends_count = models.PositiveBigIntegerField(null=True)
    unique_views_count = models.PositiveBigIntegerField(null=True)
    unique_clicks_count = models.PositiveBigIntegerField(null=True)
    utc_offset = models.CharField(max_length=6, null=True)

    non_personal_fields = ("currency_code", "utc_offset")

    class Meta:
        verbose_name = gettext_lazy("marketing engagement")
        verbose_name_plural = gettext_lazy("marketing engagements")
        constraints = (
            models.UniqueConstraint(
                fields=("marketing_event", "occurred_on"),
                name="shops_marketingengagement_once_per_day",
                violation_error_message=TAKEN,
            ),
        )

    def __str__(self) -> str:
        return f"{self.occurred_on}"
