from django.db import models
from django.db.models import Q

from apps.catalog.models.products import Product
from apps.core.tenancy.shop_owned import ShopOwned


class DelayedUpdate(ShopOwned):
    """When a product's stock changes may be reported to apps again (see ``domain.notifications.stock_updates``).

    Attributes:
        quiet_until: The earliest time of the product's next ``products/update`` event because of stock.
        is_waiting: True if the stock has changed since the last event.
    """

    # Without constraints, a former release can delete products and shops, although it does not know this table.
    shop = models.ForeignKey(
        "shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False, db_index=False, db_constraint=False
    )
    product = models.OneToOneField(Product, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    quiet_until = models.DateTimeField()
    is_waiting = models.BooleanField(default=False)

    class Meta:
        indexes = (
            models.Index(fields=("quiet_until",), condition=Q(is_waiting=True), name="catalog_delayed_waiting"),
            models.Index(fields=("shop", "id"), name="catalog_delayed_by_shop"),
        )

    def __str__(self) -> str:
        return f"product {self.product_id}"
