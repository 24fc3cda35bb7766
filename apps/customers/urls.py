"""The routes of customers, as the specification writes them."""

from apps.api.routing import route
from apps.customers.api.addresses import AddressViewSet
from apps.customers.api.customers import CustomerViewSet

urlpatterns = [
    route("customers.json", CustomerViewSet, get="list", post="create"),
    route("customers/count.json", CustomerViewSet, get="count"),
    route("customers/search.json", CustomerViewSet, get="search"),
    route("customers/<id>.json", CustomerViewSet, get="retrieve", put="update", delete="destroy"),
    route("customers/<id>/account_activation_url.json", CustomerViewSet, post="account_activation_url"),
    route("customers/<id>/send_invite.json", CustomerViewSet, post="send_invite"),
    route("customers/<customer_id>/addresses.json", AddressViewSet, get="list", post="create"),
    route("customers/<customer_id>/addresses/set.json", AddressViewSet, put="set"),
    route(
        "customers/<customer_id>/addresses/<id>.json", AddressViewSet, get="retrieve", put="update", delete="destroy"
    ),
    route("customers/<customer_id>/addresses/<id>/default.json", AddressViewSet, put="default"),
]
