"""Columns that hold no words of customers: what apps and the engine say.

See ``apps.ground.personal``. What was sent to apps, and what their servers answered, is personal and erased by
``domain.forgetting``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
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
PERSONAL: Places = {
    "webhooks.Pending": ("metafields",),
    "webhooks.Payload": ("body",),
    "webhooks.Attempt": ("response_headers", "excerpt"),
}
