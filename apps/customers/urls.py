from apps.core.rest.routing import WITHOUT_COUNT, api_path, resource_paths
from apps.customers.api.addresses import AddressViewSet
from apps.customers.api.customers import CustomerTagsView, CustomerViewSet

urlpatterns = [
    *resource_paths("customers", CustomerViewSet),
    api_path("customers/tags.json", CustomerTagsView, get="tags"),
    api_path("customers/search.json", CustomerViewSet, get="search"),
    api_path("customers/<id>/account_activation_url.json", CustomerViewSet, post="account_activation_url"),
    api_path("customers/<id>/send_invite.json", CustomerViewSet, post="send_invite"),
    *resource_paths("customers/<customer_id>/addresses", AddressViewSet, *WITHOUT_COUNT),
    api_path("customers/<customer_id>/addresses/set.json", AddressViewSet, put="set"),
    api_path("customers/<customer_id>/addresses/<id>/default.json", AddressViewSet, put="default"),
]
