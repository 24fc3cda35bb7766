from typing import TypeVar

from rest_framework import serializers

from apps.content.domain import mobile_apps
from apps.content.models import MobilePlatformApplication
from apps.core.i18n.error_messages import INVALID
from apps.core.rest.resources.fields import ApiField, BooleanField, ModelDerivedField, TextField
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors

V = TypeVar("V")


class FingerprintsField(ApiField):
    schema = {"type": "array", "items": {"type": "string"}}

    def to_internal_value(self, data: object) -> list[str]:
        try:
            return mobile_apps.parse_fingerprints(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class SwitchField(BooleanField):
    """A boolean field that also accepts an object with one boolean member."""

    def __init__(self, inner: str) -> None:
        super().__init__(required=False, default=False)
        self.inner = inner

    def to_internal_value(self, data: object) -> bool:
        if isinstance(data, dict):
            if data.keys() != {self.inner}:
                raise serializers.ValidationError(INVALID)
            data = data[self.inner]
        return super().to_internal_value(data)


class MobilePlatformApplicationSerializer(ResourceSerializer[MobilePlatformApplication]):
    application_id = ModelDerivedField()
    platform = ModelDerivedField()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    sha256_cert_fingerprints = FingerprintsField(required=False, default=list)
    enabled_universal_or_app_links = ModelDerivedField()
    enabled_shared_webcredentials = SwitchField("enabled_shared_webcredential")
    enabled_app_clips = SwitchField("app_clips_enabled")
    app_clip_application_id = TextField(max_length=255, required=False, allow_null=True)

    def validate_across_fields(self, attrs: Attrs, instance: MobilePlatformApplication | None, errors: Errors) -> None:
        def value(name: str, default: V) -> V:
            return attrs.get(name, getattr(instance, name, default))

        field_errors = mobile_apps.validate_mobile_app(
            platform=value("platform", ""),
            application_id=value("application_id", ""),
            fingerprints=value("sha256_cert_fingerprints", []),
            app_clip_application_id=value("app_clip_application_id", None),
        )
        for name, message in field_errors.items():
            errors.setdefault(name, [message])


class MobilePlatformApplicationViewSet(ShopViewSet[MobilePlatformApplication]):
    scope = "mobile_platform_applications"
    serializer_class = MobilePlatformApplicationSerializer
    singular = "mobile_platform_application"
    version_columns = ("version",)
