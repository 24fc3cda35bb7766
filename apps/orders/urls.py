from apps.core.rest.routing import WITHOUT_COUNT, api_path, resource_paths
from apps.orders.api.risks import OrderRiskViewSet
from apps.orders.api.tender_transactions import TenderTransactionViewSet
from apps.orders.api.transactions import TransactionViewSet
from apps.orders.api.views import CustomerOrdersViewSet, OrderViewSet

urlpatterns = [
    *resource_paths("orders", OrderViewSet),
    api_path("orders/<id>/cancel.json", OrderViewSet, post="cancel"),
    api_path("orders/<id>/close.json", OrderViewSet, post="close"),
    api_path("orders/<id>/open.json", OrderViewSet, post="reopen"),
    *resource_paths("orders/<order_id>/transactions", TransactionViewSet, "list", "create", "count", "retrieve"),
    *resource_paths("orders/<order_id>/risks", OrderRiskViewSet, *WITHOUT_COUNT),
    *resource_paths("tender_transactions", TenderTransactionViewSet, "list"),
    api_path("customers/<customer_id>/orders.json", CustomerOrdersViewSet, get="list"),
]
