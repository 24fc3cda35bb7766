from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned


class MobilePlatformApplication(ShopOwned):
    class Platform(models.TextChoices):
        IOS = "ios", gettext_lazy("iOS")
        ANDROID = "android", gettext_lazy("Android")

    platform = models.CharField(gettext_lazy("platform"), max_length=10, choices=Platform)
    application_id = models.CharField(gettext_lazy("application ID"), max_length=255)
    sha256_cert_fingerprints = models.JSONField(
        gettext_lazy("SHA-256 certificate fingerprints"), default=list, blank=True
    )
    enabled_universal_or_app_links = models.BooleanField(gettext_lazy("links open in the app"), default=False)
    enabled_shared_webcredentials = models.BooleanField(gettext_lazy("shared web credentials"), default=False)
    enabled_app_clips = models.BooleanField(gettext_lazy("app clips"), default=False)
    app_clip_application_id = models.CharField(
        gettext_lazy("app clip application ID"), max_length=255, null=True, blank=True
    )
    version = VersionField()

    non_personal_fields = ("application_id", "sha256_cert_fingerprints", "app_clip_application_id")

    class Meta:
        verbose_name = gettext_lazy("mobile app")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "platform", "application_id"),
                name="content_mobileapp_once_per_shop_and_platform",
                violation_error_message=TAKEN,
                violation_error_code="application_id",
            ),
        )

    def __str__(self) -> str:
        return f"{self.application_id} ({self.get_platform_display()})"
