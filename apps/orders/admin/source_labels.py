"""Labels of sales channels and payment gateways, which orders and transactions store as short names."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

_CHANNELS = {
    "web": gettext_noop("Online store"),
    "pos": gettext_noop("Point of sale"),
    "draft_order": gettext_noop("Draft order"),
    "import": gettext_noop("Import"),
}


def get_channel_label(source_name: str) -> str:
    """Return the label of a sales channel. Channels of apps are shown as stored."""
    label = _CHANNELS.get(source_name)
    return _(label) if label else source_name


def get_gateway_label(gateway: str) -> str:
    """Return the label of a payment gateway. Gateways other than the built-in ones are shown as stored."""
    if gateway == "manual":
        return pgettext("gateway", "Manual payment")
    return _("Gift card") if gateway == "gift_card" else gateway
