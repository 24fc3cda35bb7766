"""Check that the counters of discount codes equal the recorded uses plus the uses before an import."""

from collections.abc import Iterator

from django.db.models import Count, F

from apps.discounts.models import DiscountCode


def check_usage_counts() -> Iterator[str]:
    """Yield a message for each code with a counter that differs from the number of its uses."""
    uses = Count("uses") + F("earlier_uses")
    rows = DiscountCode.objects.annotate(uses_count=uses).exclude(usage_count=F("uses_count"))
    for pk, shop, counter, count in rows.order_by("pk").values_list("pk", "shop_id", "usage_count", "uses_count"):
        yield f"shop {shop}, discount code {pk}: the counter is {counter}, the uses are {count}"
