"""Validate mobile apps, and build the two association files that phones read."""

import re
from collections.abc import Sequence

from apps.content.models import MobilePlatformApplication
from apps.core.i18n.error_messages import INVALID

MAX_FINGERPRINTS = 50
APPLICATION_ID = re.compile(r"[A-Za-z0-9._-]{1,255}")
_FINGERPRINT = re.compile(r"[0-9A-F]{2}(?::[0-9A-F]{2}){31}")


def parse_fingerprints(value: object) -> list[str]:
    """Parse SHA-256 fingerprints of the form ``AA:BB:…`` to upper case without duplicates, or raise ``ValueError``."""
    if not isinstance(value, list) or len(value) > MAX_FINGERPRINTS:
        raise ValueError(INVALID)
    fingerprints = [item.strip().upper() if isinstance(item, str) else "" for item in value]
    if not all(_FINGERPRINT.fullmatch(item) for item in fingerprints):
        raise ValueError("must be SHA-256 fingerprints of 32 bytes such as AA:BB:…")
    return list(dict.fromkeys(fingerprints))


def validate_mobile_app(
    *, platform: str, application_id: str, fingerprints: Sequence[str], app_clip_application_id: str | None
) -> dict[str, str]:
    """Return the errors for the platform, keyed by field name."""
    errors: dict[str, str] = {}
    if not APPLICATION_ID.fullmatch(application_id):
        errors["application_id"] = INVALID
    if app_clip_application_id and not APPLICATION_ID.fullmatch(app_clip_application_id):
        errors["app_clip_application_id"] = INVALID
    if fingerprints and platform != MobilePlatformApplication.Platform.ANDROID:
        errors["sha256_cert_fingerprints"] = "must be empty for iOS"
    return errors


def build_apple_app_site_association() -> dict[str, object]:
    apps = list(
        MobilePlatformApplication.objects.filter(platform=MobilePlatformApplication.Platform.IOS).order_by("id")
    )
    links = [app.application_id for app in apps if app.enabled_universal_or_app_links]
    clips = [app.app_clip_application_id for app in apps if app.enabled_app_clips and app.app_clip_application_id]
    return {
        "applinks": {"apps": [], "details": [{"appID": app, "paths": ["*"]} for app in links]},
        "webcredentials": {"apps": [app.application_id for app in apps if app.enabled_shared_webcredentials]},
        "appclips": {"apps": clips},
    }


def build_asset_links() -> list[dict[str, object]]:
    apps = MobilePlatformApplication.objects.filter(
        platform=MobilePlatformApplication.Platform.ANDROID, enabled_universal_or_app_links=True
    )
    return [
        {
            "relation": ["delegate_permission/common.handle_all_urls"],
            "target": {
                "namespace": "android_app",
                "package_name": app.application_id,
                "sha256_cert_fingerprints": app.sha256_cert_fingerprints,
            },
        }
        for app in apps.order_by("id")
    ]
