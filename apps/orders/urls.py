"""The routes of orders, as the specification writes them."""

from apps.api.routing import route
from apps.orders.api.transactions import TransactionViewSet
from apps.orders.api.views import CustomerOrdersViewSet, OrderViewSet

urlpatterns = [
    route("orders.json", OrderViewSet, get="list", post="create"),
    route("orders/count.json", OrderViewSet, get="count"),
    route("orders/<id>.json", OrderViewSet, get="retrieve", put="update", delete="destroy"),
    route("orders/<id>/cancel.json", OrderViewSet, post="cancel"),
    route("orders/<id>/close.json", OrderViewSet, post="close"),
    route("orders/<id>/open.json", OrderViewSet, post="reopen"),
    route("orders/<order_id>/transactions.json", TransactionViewSet, get="list", post="create"),
    route("orders/<order_id>/transactions/count.json", TransactionViewSet, get="count"),
    route("orders/<order_id>/transactions/<id>.json", TransactionViewSet, get="retrieve"),
    route("customers/<customer_id>/orders.json", CustomerOrdersViewSet, get="list"),
]
