"""Sort columns of products that change with inventory and orders."""

from django.db import models

from apps.core.db.sort_tables import Rank, sort_table_key


class ProductRank(Rank):
    """The last update and the units sold of a product, in a narrow table with indexes that are cheap to update."""

    of = sort_table_key("catalog.Product")
    updated_at = models.DateTimeField()
    units_sold = models.PositiveBigIntegerField()

    class Meta:
        indexes = (
            models.Index(fields=("shop", "updated_at", "of"), name="catalog_rank_by_update"),
            models.Index(fields=("shop", "-units_sold", "of"), name="catalog_rank_best_selling"),
        )
