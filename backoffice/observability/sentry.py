"""Report errors to Sentry (``SENTRY_DSN``) without personal data or secrets.

A report contains the error, the location in the code, the route, and the IDs of request, shop and app. A report never
contains bodies, query strings, headers, cookies, IP addresses or values of variables.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from backoffice.observability.logs import current_request, get_actor_ids, get_current_id, redact_secrets


def configure_sentry(dsn: str) -> None:
    try:
        import sentry_sdk
        from sentry_sdk.utils import BadDsn
    except ImportError:
        message = "SENTRY_DSN needs the package sentry-sdk. Install it with: uv sync --extra sentry"
        raise ImproperlyConfigured(message) from None
    try:
        sentry_sdk.init(
            dsn=dsn,
            before_send=_remove_private_data,
            include_local_variables=False,
            max_request_body_size="never",
            send_default_pii=False,
            max_breadcrumbs=0,
            server_name="",
        )
    except BadDsn:
        raise ImproperlyConfigured("SENTRY_DSN must be a URL such as https://KEY@HOST/PROJECT.") from None


def _remove_private_data(event: Any, hint: Any) -> Any:
    request = event.pop("request", {})
    event.pop("user", None)
    event["tags"] = {
        **event.get("tags", {}),
        "request_id": get_current_id(),
        **{name: str(value) for name, value in get_actor_ids(current_request.get()).items() if name != "staff"},
    }
    if "method" in request:
        event["tags"]["method"] = request["method"]
    return _redact_texts(event)


def _redact_texts(value: Any) -> Any:
    if isinstance(value, str):
        return redact_secrets(value)
    if isinstance(value, dict):
        return {name: _redact_texts(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_texts(item) for item in value]
    return value
