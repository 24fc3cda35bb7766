"""Columns of the webhooks app, grouped by whether they may contain customers' personal data.

Payloads and the responses of endpoints may contain personal data, which ``domain.redaction`` erases. Other text columns
contain no customer data. See ``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "webhooks.Subscription": (
        "topic",
        "uri",
        "filter",
        "include_fields",
        "metafield_namespaces",
        "private_metafield_namespaces",
        "metafields",
        "name",
        "api_version",
        "reason",
        "warnings",
        "key_digest",
    ),
    "webhooks.Health": ("last_error",),
    "webhooks.Host": ("name", "last_error"),
    "webhooks.Endpoint": ("uri", "uri_digest", "host"),
    "webhooks.Payload": ("digest",),
    "webhooks.Delivery": ("topic", "api_version", "ordering_key", "error"),
    "webhooks.Attempt": ("outcome", "error", "remote_ip"),
}
PERSONAL_COLUMNS: ColumnsByModel = {
    "webhooks.Pending": ("metafields",),
    "webhooks.Payload": ("body",),
    "webhooks.Attempt": ("response_headers", "excerpt"),
}
