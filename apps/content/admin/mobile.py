import json
from typing import ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.domain import mobile_apps
from apps.content.models import MobilePlatformApplication
from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.theme import Fieldset, ThemedTextarea, attribute_column, display
from apps.core.tenancy.permissions import allow, grants

grants.add(allow("preferences", "vacd", "content.mobileplatformapplication"))


class MobileAppForm(PanelForm[MobilePlatformApplication]):
    sha256_cert_fingerprints = forms.CharField(
        label=gettext_lazy("SHA-256 certificate fingerprints"),
        required=False,
        widget=ThemedTextarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("Android only. Enter one fingerprint per line, such as AA:BB:… (32 bytes)."),
    )

    def prepare(self) -> None:
        if "sha256_cert_fingerprints" in self.fields:
            self.initial["sha256_cert_fingerprints"] = "\n".join(self.instance.sha256_cert_fingerprints)

    def clean_sha256_cert_fingerprints(self) -> list[str]:
        try:
            return mobile_apps.parse_fingerprints(self.cleaned_data["sha256_cert_fingerprints"].split())
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> Values | None:
        cleaned = super().clean() or self.cleaned_data
        errors = mobile_apps.validate_mobile_app(
            platform=cleaned.get("platform", ""),
            application_id=cleaned.get("application_id", "x"),
            fingerprints=cleaned.get("sha256_cert_fingerprints", []),
            app_clip_application_id=cleaned.get("app_clip_application_id"),
        )
        for field, message in errors.items():
            self.add_error(field, message)
        return cleaned


@admin.register(MobilePlatformApplication)
class MobilePlatformApplicationAdmin(ShopOwnedAdmin[MobilePlatformApplication]):
    form = MobileAppForm
    menu = MenuItem("Online store", "phone_iphone", 60, gettext_lazy("Mobile apps"))
    add_title = gettext_lazy("Add mobile app")
    search_terms = pgettext_lazy("search", "phone, smartphone, android, ios, iphone, deep link")
    topics = "mobile_platform_applications"
    intro = gettext_lazy(
        "Mobile apps that open links to your shop. Phones read the association files created here and then open these "
        "links in the app instead of the browser."
    )
    empty_text = gettext_lazy("No mobile apps yet.")
    list_display = ("application_id", "platform", "links", "updated_at")
    mobile_hide_labels = ("platform",)
    list_filter = ("platform",)
    search_fields = ("application_id__icontains",)
    ordering = ("id",)
    readonly_fields = ("association_file",)
    fieldsets: ClassVar[tuple[Fieldset, ...]] = (
        (None, {"fields": ("platform", "application_id", "enabled_universal_or_app_links")}),
        (gettext_lazy("Android"), {"fields": ("sha256_cert_fingerprints",)}),
        (
            gettext_lazy("Apple iOS"),
            {"fields": ("enabled_shared_webcredentials", "enabled_app_clips", "app_clip_application_id")},
        ),
        (gettext_lazy("Result"), {"fields": ("association_file",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: MobilePlatformApplication | None = None) -> tuple[Fieldset, ...]:
        return self.fieldsets if obj else self.fieldsets[:-1]

    links = attribute_column("enabled_universal_or_app_links", gettext_lazy("Opens links"), boolean=True)

    @display(description=gettext_lazy("Association file"))
    def association_file(self, app: MobilePlatformApplication) -> str:
        ios = app.platform == MobilePlatformApplication.Platform.IOS
        return json.dumps(
            mobile_apps.build_apple_app_site_association() if ios else mobile_apps.build_asset_links(), indent=2
        )
