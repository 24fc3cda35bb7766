from django.core.management.base import BaseCommand

from apps.core.media.metadata import strip_all_metadata
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope


class Command(BaseCommand):
    """Strips metadata from all images, which then get a new URL. The command can be stopped and repeated."""

    help = "Remove metadata (location, camera, texts) from stored images."

    def handle(self, *args: object, **options: object) -> None:
        for shop in Shop.objects.order_by("pk"):
            with shop_scope(shop):
                cleaned = ", ".join(f"{count} {name}" for name, count in strip_all_metadata().items())
            self.stdout.write(f"{shop.domain}: removed metadata from {cleaned}")
