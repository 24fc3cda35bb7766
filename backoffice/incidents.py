"""Errors told to a Sentry (``SENTRY_DSN``), without what belongs to buyers or opens doors.

What goes out: the error, where in the code it happened, the route, and the ids of request, shop and app. What stays
here: bodies, query strings, headers, cookies, addresses, the values of variables.
"""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from backoffice.logs import current_id, redact, request_in_work, whose


def report_to(dsn: str) -> None:
    """From now on, tell errors of this process there.

    Raises:
        ImproperlyConfigured: The package is not installed, or the address is none.
    """
    try:
        import sentry_sdk
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise ImproperlyConfigured("SENTRY_DSN needs the package sentry-sdk: uv sync --extra sentry.") from None
    try:
        sentry_sdk.init(
            dsn=dsn,
            before_send=_without_secrets,
            include_local_variables=False,
            max_request_body_size="never",
            send_default_pii=False,
            max_breadcrumbs=0,
            server_name="",
        )
    except BadDsn:
        raise ImproperlyConfigured("SENTRY_DSN must be an address such as https://KEY@HOST/PROJECT.") from None


def _without_secrets(event: Any, hint: Any) -> Any:
    request = event.pop("request", {})
    event.pop("user", None)
    event["tags"] = {
        **event.get("tags", {}),
        "request_id": current_id(),
        **{name: str(value) for name, value in whose(request_in_work.get()).items() if name != "staff"},
    }
    if "method" in request:
        event["tags"]["method"] = request["method"]
    return _redacted(event)


def _redacted(value: Any) -> Any:
    """The same with every text redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _redacted(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each) for each in value]
    return value
