"""Mobile platform applications over REST."""

from typing import TypeVar

from rest_framework import serializers

from apps.api.resources.fields import ApiField, BooleanField, FromModel, TextField
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Errors
from apps.api.viewsets import ShopViewSet
from apps.content.domain import mobile
from apps.content.models import MobilePlatformApplication
from apps.ground.phrases import INVALID

V = TypeVar("V")


class FingerprintsField(ApiField):
    """A list of certificate fingerprints."""

    schema = {"type": "array", "items": {"type": "string"}}

    def to_internal_value(self, data: object) -> list[str]:
        """The fingerprints, in upper case."""
        try:
            return mobile.read_fingerprints(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class SwitchField(BooleanField):
    """A boolean that is also taken as an object with one boolean, as the resource's overview shows it."""

    def __init__(self, inner: str) -> None:
        """Name the object's key."""
        super().__init__(required=False, default=False)
        self.inner = inner

    def to_internal_value(self, data: object) -> bool:
        """The truth value."""
        if isinstance(data, dict):
            if data.keys() != {self.inner}:
                raise serializers.ValidationError(INVALID)
            data = data[self.inner]
        return super().to_internal_value(data)


class MobilePlatformApplicationSerializer(ResourceSerializer[MobilePlatformApplication]):
    """A mobile app as the interface shows it."""

    application_id = FromModel()
    platform = FromModel()
    created_at = FromModel()
    updated_at = FromModel()
    sha256_cert_fingerprints = FingerprintsField(required=False, default=list)
    enabled_universal_or_app_links = FromModel()
    enabled_shared_webcredentials = SwitchField("enabled_shared_webcredential")
    enabled_app_clips = SwitchField("app_clips_enabled")
    app_clip_application_id = TextField(max_length=255, required=False, allow_null=True)

    class Meta:
        model = MobilePlatformApplication

    def check(self, attrs: Attrs, instance: MobilePlatformApplication | None, errors: Errors) -> None:
        """Hold the parts to the platform."""

        def value(name: str, default: V) -> V:
            given: V = attrs.get(name, getattr(instance, name, default))
            return given

        found = mobile.refusals(
            platform=value("platform", ""),
            application_id=value("application_id", ""),
            fingerprints=value("sha256_cert_fingerprints", []),
            app_clip_application_id=value("app_clip_application_id", None),
        )
        for name, message in found.items():
            errors.setdefault(name, [message])


class MobilePlatformApplicationViewSet(ShopViewSet[MobilePlatformApplication]):
    """``/mobile_platform_applications``."""

    scope = "mobile_platform_applications"
    model = MobilePlatformApplication
    serializer_class = MobilePlatformApplicationSerializer
    singular = "mobile_platform_application"
    plural = "mobile_platform_applications"
    versions = ("version",)
