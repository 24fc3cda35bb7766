from apps.core.tenancy.models import AccessToken, App, Installation, Shop
from apps.shops.models.app_credits import ApplicationCredit
from apps.shops.models.charges import (
    RecurringCharge,
    UsageCharge,
    get_billing_date,
    get_current_usage,
    get_period_start,
)
from apps.shops.models.countries import ShopCountry, ShopProvince
from apps.shops.models.credentials import AuthorizationCode, RetiringSecret
from apps.shops.models.feedback import FeedbackState, ResourceFeedback, ShopFeedback
from apps.shops.models.marketing import MarketingEngagement, MarketingEvent
from apps.shops.models.purchases import AppPurchase
from apps.shops.models.storefront_tokens import StorefrontAccessToken
