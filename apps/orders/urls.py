from apps.core.rest.routing import api_path
from apps.orders.api.transactions import TransactionViewSet
from apps.orders.api.views import CustomerOrdersViewSet, OrderViewSet

urlpatterns = [
    api_path("orders.json", OrderViewSet, get="list", post="create"),
    api_path("orders/count.json", OrderViewSet, get="count"),
    api_path("orders/<id>.json", OrderViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("orders/<id>/cancel.json", OrderViewSet, post="cancel"),
    api_path("orders/<id>/close.json", OrderViewSet, post="close"),
    api_path("orders/<id>/open.json", OrderViewSet, post="reopen"),
    api_path("orders/<order_id>/transactions.json", TransactionViewSet, get="list", post="create"),
    api_path("orders/<order_id>/transactions/count.json", TransactionViewSet, get="count"),
    api_path("orders/<order_id>/transactions/<id>.json", TransactionViewSet, get="retrieve"),
    api_path("customers/<customer_id>/orders.json", CustomerOrdersViewSet, get="list"),
]
