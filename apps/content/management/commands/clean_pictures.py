"""``manage.py clean_pictures``: takes metadata out of pictures that were stored before that was done on arrival."""

from django.core.management.base import BaseCommand

from apps.ground.tenancy import shop_scope
from apps.media.cleaning import clean_all
from apps.shops.models import Shop


class Command(BaseCommand):
    """May be stopped and run again at any time; a cleaned picture has a new address."""

    help = "Takes what pictures tell beyond their pixels (place, camera, texts) out of those that are stored already."

    def handle(self, *args: object, **options: object) -> None:
        """Clean shop by shop."""
        for shop in Shop.objects.order_by("pk"):
            with shop_scope(shop):
                cleaned = ", ".join(f"{count} {name}" for name, count in clean_all().items())
            self.stdout.write(f"{shop.domain}: cleaned {cleaned}")
