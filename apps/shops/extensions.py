"""What the shops app adds to its own registries."""

from functools import partial

from apps.shops.domain import charges, feedback, shop_countries, storefront_tokens
from apps.shops.domain.app_installation import uninstall_cleaners
from apps.shops.domain.settings import currency_objections, setting_callbacks
from apps.shops.domain.shop_creation import shop_initializers
from apps.shops.models import ShopFeedback

currency_objections.register("charges", charges.get_currency_objection)
setting_callbacks.register("country_code", shop_countries.add_own_country)
shop_initializers.register("country", shop_countries.create_own_country)
uninstall_cleaners.register("charges", charges.cancel_charges)
uninstall_cleaners.register("feedback", partial(feedback.delete_feedback, ShopFeedback))
uninstall_cleaners.register("storefront access tokens", storefront_tokens.delete_storefront_tokens)
