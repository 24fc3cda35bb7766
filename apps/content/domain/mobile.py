"""Rules of mobile apps, and the two files by which phones learn which apps may open a shop's links.

Rule: decisions, Mobile platform applications.
"""

import re
from collections.abc import Sequence

from apps.content.models import MobilePlatformApplication
from apps.ground.phrases import INVALID

MAX_FINGERPRINTS = 50
APPLICATION_ID = re.compile(r"[A-Za-z0-9._-]{1,255}")
_FINGERPRINT = re.compile(r"[0-9A-F]{2}(?::[0-9A-F]{2}){31}")


def read_fingerprints(given: object) -> list[str]:
    """The fingerprints of signing certificates, in upper case, once each.

    Raises:
        ValueError: It is no list of SHA-256 fingerprints such as ``AA:BB:…`` of 32 bytes.
    """
    if not isinstance(given, list) or len(given) > MAX_FINGERPRINTS:
        raise ValueError(INVALID)
    found = [item.strip().upper() if isinstance(item, str) else "" for item in given]
    if not all(_FINGERPRINT.fullmatch(item) for item in found):
        raise ValueError("must be SHA-256 fingerprints of 32 bytes such as AA:BB:…")
    return list(dict.fromkeys(found))


def refusals(
    *, platform: str, application_id: str, fingerprints: Sequence[str], app_clip_application_id: str | None
) -> dict[str, str]:
    """What does not fit together, by field."""
    found: dict[str, str] = {}
    if not APPLICATION_ID.fullmatch(application_id):
        found["application_id"] = INVALID
    if app_clip_application_id and not APPLICATION_ID.fullmatch(app_clip_application_id):
        found["app_clip_application_id"] = INVALID
    if fingerprints and platform != MobilePlatformApplication.Platform.ANDROID:
        found["sha256_cert_fingerprints"] = "must be empty for iOS"
    return found


def apple_app_site_association() -> dict[str, object]:
    """What iOS reads: which apps open links, share passwords, and run as app clips."""
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


def asset_links() -> list[dict[str, object]]:
    """What Android reads: which apps, signed by whom, open links."""
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
