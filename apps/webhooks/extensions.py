"""What the webhooks app adds to other apps, and the renderer of metafields in payloads."""

from apps.core.events.recording import audiences
from apps.shops.domain.app_installation import grant_callbacks, uninstall_cleaners
from apps.webhooks.api.metafields import read_metafields
from apps.webhooks.domain import audience, privacy, subscriptions

audiences.register(audience.get_api_versions, audience.add_to_outbox)
audience.metafield_renderers.add(read_metafields)
grant_callbacks.add(subscriptions.refresh_listeners_on_grant)
uninstall_cleaners.register("webhook subscriptions", privacy.handle_uninstall)
