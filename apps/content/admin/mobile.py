"""Mobile apps as staff register them."""

import json
from typing import ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.domain import mobile
from apps.content.models import MobilePlatformApplication
from apps.panel.menu import Menu
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.theme import Fieldset, ThemedTextarea, display
from apps.staff.domain.permissions import grant

grant("preferences", "vacd", "content.mobileplatformapplication")


class MobileAppForm(PanelForm[MobilePlatformApplication]):
    """Holds the parts of an app to its platform; fingerprints are typed one per line."""

    sha256_cert_fingerprints = forms.CharField(
        label=gettext_lazy("SHA-256 certificate fingerprints"),
        required=False,
        widget=ThemedTextarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("Android only. One per line, such as AA:BB:… of 32 bytes."),
    )

    def prepare(self) -> None:
        """One fingerprint per line."""
        if "sha256_cert_fingerprints" in self.fields:
            self.initial["sha256_cert_fingerprints"] = "\n".join(self.instance.sha256_cert_fingerprints)

    def clean_sha256_cert_fingerprints(self) -> list[str]:
        """The fingerprints, in upper case."""
        try:
            return mobile.read_fingerprints(self.cleaned_data["sha256_cert_fingerprints"].split())
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> Values | None:
        """What fits the platform."""
        cleaned = super().clean() or self.cleaned_data
        found = mobile.refusals(
            platform=cleaned.get("platform", ""),
            application_id=cleaned.get("application_id", "x"),
            fingerprints=cleaned.get("sha256_cert_fingerprints", []),
            app_clip_application_id=cleaned.get("app_clip_application_id"),
        )
        for field, message in found.items():
            self.add_error(field, message)
        return cleaned


@admin.register(MobilePlatformApplication)
class MobilePlatformApplicationAdmin(ShopOwnedAdmin[MobilePlatformApplication]):
    """Which mobile apps may open the shop's links."""

    form = MobileAppForm
    menu = Menu(
        "Online store",
        "phone_iphone",
        60,
        gettext_lazy("Mobile apps"),
        words=pgettext_lazy("search", "phone, smartphone, android, ios, iphone, deep link"),
    )
    topics = "mobile_platform_applications"
    intro = gettext_lazy(
        "Apps whose links open in them instead of the browser. Phones read the two files that this makes."
    )
    empty_text = gettext_lazy("No mobile app is registered.")
    list_display = ("application_id", "platform", "links", "updated_at")
    list_self_evident = ("platform",)
    list_filter = ("platform",)
    search_fields = ("application_id__icontains",)
    ordering = ("id",)
    readonly_fields = ("association_file",)
    fieldsets: ClassVar[tuple[Fieldset, ...]] = (
        (None, {"fields": ("platform", "application_id", "enabled_universal_or_app_links")}),
        (gettext_lazy("Android"), {"fields": ("sha256_cert_fingerprints",)}),
        ("iOS", {"fields": ("enabled_shared_webcredentials", "enabled_app_clips", "app_clip_application_id")}),
        (gettext_lazy("Result"), {"fields": ("association_file",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: MobilePlatformApplication | None = None) -> tuple[Fieldset, ...]:
        """The result only where there is one."""
        return self.fieldsets if obj else self.fieldsets[:-1]

    @display(description=gettext_lazy("Links open in it"), boolean=True)
    def links(self, app: MobilePlatformApplication) -> bool:
        """Whether links open in it."""
        return app.enabled_universal_or_app_links

    @display(description=gettext_lazy("Association file"))
    def association_file(self, app: MobilePlatformApplication) -> str:
        """What phones of its platform read."""
        ios = app.platform == MobilePlatformApplication.Platform.IOS
        return json.dumps(mobile.apple_app_site_association() if ios else mobile.asset_links(), indent=2)
