from typing import Any

from django.db.models import Model, QuerySet, Sum
from django.db.models.functions import Coalesce

from apps.core.rest.resources.fields import (
    BooleanField,
    ConstantField,
    DateTimeField,
    ModelDerivedField,
    global_id_field,
)
from apps.core.rest.resources.filters import DateTimeFilter, IntegerFilter, ResourceFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors
from apps.discounts.api.fields import (
    ColumnsField,
    ItemIdsField,
    ValueField,
    amount_member,
    spread_columns,
)
from apps.discounts.domain import price_rules
from apps.discounts.models import PriceRule
from apps.orders.api.fields import nullable_integer

_AT_LEAST, _AT_MOST = "greater_than_or_equal_to", "less_than_or_equal_to"


class TimesUsedFilter(IntegerFilter):
    """Matches rules with codes that orders have used this many times in total."""

    def filter(self, qs: QuerySet[Model], value: Any) -> QuerySet[Model]:
        if value is None:
            return qs
        return qs.alias(times_used=Coalesce(Sum("codes__usage_count"), 0)).filter(times_used=value)


class PriceRuleFilter(ResourceFilter):
    starts_at_min = DateTimeFilter("starts_at", "gte")
    starts_at_max = DateTimeFilter("starts_at", "lte")
    ends_at_min = DateTimeFilter("ends_at", "gte")
    ends_at_max = DateTimeFilter("ends_at", "lte")
    times_used = TimesUsedFilter()


_OBJECTS: dict[str, ColumnsField] = {
    "prerequisite_subtotal_range": ColumnsField(
        {_AT_LEAST: amount_member()}, {_AT_LEAST: "prerequisite_subtotal"}, nullable=True
    ),
    "prerequisite_quantity_range": ColumnsField(
        {_AT_LEAST: nullable_integer()}, {_AT_LEAST: "prerequisite_quantity"}, nullable=True
    ),
    "prerequisite_shipping_price_range": ColumnsField(
        {_AT_MOST: amount_member()}, {_AT_MOST: "prerequisite_shipping_price"}, nullable=True
    ),
    "prerequisite_to_entitlement_quantity_ratio": ColumnsField(
        {"prerequisite_quantity": nullable_integer(), "entitled_quantity": nullable_integer()},
        {"prerequisite_quantity": "prerequisite_quantity_ratio", "entitled_quantity": "entitled_quantity_ratio"},
        nullable=False,
    ),
    "prerequisite_to_entitlement_purchase": ColumnsField(
        {"prerequisite_amount": amount_member()}, {"prerequisite_amount": "prerequisite_amount"}, nullable=False
    ),
}


class PriceRuleSerializer(ResourceSerializer[PriceRule]):
    value_type = ModelDerivedField()
    value = ValueField(max_length=None)
    customer_selection = ModelDerivedField()
    target_type = ModelDerivedField()
    target_selection = ModelDerivedField()
    allocation_method = ModelDerivedField()
    allocation_limit = nullable_integer(1)
    once_per_customer = BooleanField(required=False, default=False)
    usage_limit = nullable_integer(1)
    starts_at = DateTimeField()
    ends_at = DateTimeField(required=False, allow_null=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    entitled_product_ids = ItemIdsField("entitled_product_ids")
    entitled_variant_ids = ItemIdsField("entitled_variant_ids")
    entitled_collection_ids = ItemIdsField("entitled_collection_ids")
    entitled_country_ids = ItemIdsField("entitled_country_ids")
    prerequisite_product_ids = ItemIdsField("prerequisite_product_ids")
    prerequisite_variant_ids = ItemIdsField("prerequisite_variant_ids")
    prerequisite_collection_ids = ItemIdsField("prerequisite_collection_ids")
    customer_segment_prerequisite_ids = ConstantField([])
    prerequisite_customer_ids = ItemIdsField("prerequisite_customer_ids")
    prerequisite_subtotal_range = _OBJECTS["prerequisite_subtotal_range"]
    prerequisite_quantity_range = _OBJECTS["prerequisite_quantity_range"]
    prerequisite_shipping_price_range = _OBJECTS["prerequisite_shipping_price_range"]
    prerequisite_to_entitlement_quantity_ratio = _OBJECTS["prerequisite_to_entitlement_quantity_ratio"]
    prerequisite_to_entitlement_purchase = _OBJECTS["prerequisite_to_entitlement_purchase"]
    title = ModelDerivedField()
    admin_graphql_api_id = global_id_field("PriceRule")

    def validate_across_fields(self, attrs: Attrs, instance: PriceRule | None, errors: Errors) -> None:
        spread_columns(attrs, _OBJECTS)


class PriceRuleViewSet(ShopViewSet[PriceRule]):
    scope = "price_rules"
    serializer_class = PriceRuleSerializer
    filterset_class = PriceRuleFilter
    singular = "price_rule"
    locks_in_service = True

    def perform_create(self, attrs: Attrs) -> PriceRule:
        return price_rules.create_price_rule(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: PriceRule, attrs: Attrs) -> None:
        price_rules.update_price_rule(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: PriceRule) -> None:
        price_rules.delete_price_rule(instance, actor=self.actor, at=self.at)
