"""``manage.py strip_image_metadata``: remove metadata from images that old versions of Backoffice stored."""

from django.core.management.base import BaseCommand

from apps.core.media.metadata import strip_all_metadata
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope


class Command(BaseCommand):
    """Strips metadata from the images of all shops. The command can be stopped and repeated at any time.

    Images that contained metadata get a new URL.
    """

    help = "Remove metadata (location, camera, texts) from stored images."

    def handle(self, *args: object, **options: object) -> None:
        """Strip metadata from the images of all shops."""
        for shop in Shop.objects.order_by("pk"):
            with shop_scope(shop):
                cleaned = ", ".join(f"{count} {name}" for name, count in strip_all_metadata().items())
            self.stdout.write(f"{shop.domain}: removed metadata from {cleaned}")
