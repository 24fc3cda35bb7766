from apps.core.rest.routing import api_path, resource_paths
from apps.discounts.api.calculate import CalculationViewSet
from apps.discounts.api.discount_codes import AllDiscountCodesViewSet, CodeBatchViewSet, DiscountCodeViewSet
from apps.discounts.api.price_rules import PriceRuleViewSet

urlpatterns = [
    *resource_paths("price_rules", PriceRuleViewSet),
    *resource_paths(
        "price_rules/<rule_id>/discount_codes",
        DiscountCodeViewSet,
        *("list", "create", "retrieve", "update", "destroy"),
    ),
    api_path("price_rules/<rule_id>/batch.json", CodeBatchViewSet, post="create"),
    api_path("price_rules/<rule_id>/batch/<id>.json", CodeBatchViewSet, get="retrieve"),
    api_path("price_rules/<rule_id>/batch/<batch_id>/discount_codes.json", CodeBatchViewSet, get="discount_codes"),
    api_path("discount_codes/count.json", AllDiscountCodesViewSet, get="count"),
    api_path("discount_codes/lookup.json", AllDiscountCodesViewSet, get="lookup"),
    api_path("discounts/calculate.json", CalculationViewSet, post="calculate"),
]
