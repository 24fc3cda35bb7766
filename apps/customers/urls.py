from apps.core.rest.routing import api_path
from apps.customers.api.addresses import AddressViewSet
from apps.customers.api.customers import CustomerViewSet

urlpatterns = [
    api_path("customers.json", CustomerViewSet, get="list", post="create"),
    api_path("customers/count.json", CustomerViewSet, get="count"),
    api_path("customers/search.json", CustomerViewSet, get="search"),
    api_path("customers/<id>.json", CustomerViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("customers/<id>/account_activation_url.json", CustomerViewSet, post="account_activation_url"),
    api_path("customers/<id>/send_invite.json", CustomerViewSet, post="send_invite"),
    api_path("customers/<customer_id>/addresses.json", AddressViewSet, get="list", post="create"),
    api_path("customers/<customer_id>/addresses/set.json", AddressViewSet, put="set"),
    api_path(
        "customers/<customer_id>/addresses/<id>.json", AddressViewSet, get="retrieve", put="update", delete="destroy"
    ),
    api_path("customers/<customer_id>/addresses/<id>/default.json", AddressViewSet, put="default"),
]
