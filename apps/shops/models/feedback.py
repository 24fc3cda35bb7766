from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned


class FeedbackState(models.TextChoices):
    REQUIRES_ACTION = "requires_action", pgettext_lazy("feedback", "Action required")
    SUCCESS = "success", pgettext_lazy("feedback", "OK")


class ResourceFeedback(ShopOwned):
    """What staff must do before an app can work with a resource. Each app has one current feedback per resource.

    ``feedback_generated_at`` orders feedback that an app sends concurrently. Uninstalling the app deletes its feedback.
    """

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", editable=False)
    state = models.CharField(max_length=15, choices=FeedbackState)
    messages = models.JSONField(default=list)
    feedback_generated_at = models.DateTimeField(default=timezone.now)

    non_personal_fields = ("messages",)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.state} from {self.app_id}"


class ShopFeedback(ResourceFeedback):
    class Meta:
        verbose_name = gettext_lazy("feedback")
        verbose_name_plural = gettext_lazy("feedback")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "app"), name="shops_shopfeedback_once_per_app", violation_error_message=TAKEN
            ),
        )
