from apps.core.rest.routing import api_path, resource_paths
from apps.shops.api.app_credits import ApplicationCreditViewSet
from apps.shops.api.charges import ApplicationChargeViewSet, RecurringChargeViewSet, UsageChargeViewSet
from apps.shops.api.countries import CountryViewSet, ProvinceViewSet, ShippingZoneView
from apps.shops.api.deprecated_calls import DeprecatedCallView
from apps.shops.api.feedback import ShopFeedbackViewSet
from apps.shops.api.marketing import MarketingEventViewSet
from apps.shops.api.storefront_tokens import StorefrontAccessTokenViewSet
from apps.shops.api.views import CurrencyView, InstallationView, ShopView

urlpatterns = [
    api_path("shop.json", ShopView, get="retrieve"),
    api_path("currencies.json", CurrencyView, get="list"),
    *resource_paths("countries", CountryViewSet),
    *resource_paths("countries/<country_id>/provinces", ProvinceViewSet, "list", "count", "retrieve", "update"),
    api_path("shipping_zones.json", ShippingZoneView, get="list"),
    *resource_paths("storefront_access_tokens", StorefrontAccessTokenViewSet, "list", "create", "destroy"),
    *resource_paths("application_charges", ApplicationChargeViewSet, "list", "create", "retrieve"),
    *resource_paths("application_credits", ApplicationCreditViewSet, "list", "create", "retrieve"),
    *resource_paths("recurring_application_charges", RecurringChargeViewSet, "list", "create", "retrieve", "destroy"),
    api_path("recurring_application_charges/<id>/customize.json", RecurringChargeViewSet, put="customize"),
    api_path("recurring_application_charges/<id>/activate.json", RecurringChargeViewSet, post="activate"),
    *resource_paths(
        "recurring_application_charges/<recurring_charge_id>/usage_charges",
        UsageChargeViewSet,
        "list",
        "create",
        "retrieve",
    ),
    api_path("deprecated_api_calls.json", DeprecatedCallView, get="list"),
    *resource_paths("marketing_events", MarketingEventViewSet),
    api_path("marketing_events/<id>/engagements.json", MarketingEventViewSet, post="add_engagements"),
    *resource_paths("resource_feedback", ShopFeedbackViewSet, "list", "create"),
    # Public client libraries require exactly this path.
    api_path("api_permissions/current.json", InstallationView, delete="destroy"),
]
