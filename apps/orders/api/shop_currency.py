"""The query parameter ``in_shop_currency``: amounts in the shop currency instead of the currency of a payment."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import NOT_BOOLEAN
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.reading.query_plans import ReadPlan, get_read_plan
from apps.core.rest.resources.filters import ApiFilter, ResourceFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned

M = TypeVar("M", bound=ShopOwned)
SHOP_CURRENCY = "in_shop_currency"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": False}


class ShopCurrencyFilter(ApiFilter):
    """Accept ``in_shop_currency`` in lists without filtering by it."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs


class ShopCurrencyFilters(ResourceFilter):
    in_shop_currency = ShopCurrencyFilter()


class ShopCurrencyViewSet(ShopViewSet[M]):
    filterset_class = ShopCurrencyFilters
    query_parameters = {"retrieve": ("fields", SHOP_CURRENCY)}
    shop_serializer_class: ClassVar[type[ResourceSerializer[Any]]]

    in_shop_currency = False

    def get_read_plan(self) -> ReadPlan:
        serializer = self.shop_serializer_class if self.in_shop_currency else self.serializer_class
        return get_read_plan(serializer, self.version, self.requested_fields)

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[M] | type[M]:
        row_filters = dict(filters)
        self._choose_currency(row_filters.pop(SHOP_CURRENCY, None))
        return super().filter_rows(row_filters)

    def _choose_currency(self, word: str | None) -> None:
        in_shop_currency = _BOOLEANS.get((word or "").lower())
        if in_shop_currency is None:
            raise BadRequest({SHOP_CURRENCY: NOT_BOOLEAN})
        self.in_shop_currency = in_shop_currency

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        self._choose_currency(self.query.get(SHOP_CURRENCY))
        return super().retrieve(request, **kwargs)
