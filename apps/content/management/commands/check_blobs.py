from django.core.management.base import BaseCommand, CommandError

from apps.content.domain import blob_store
from apps.content.models import FileContent
from apps.core.tenancy.scope import all_shops_scope


class Command(BaseCommand):
    """Checks every stored file, and exits with code 1 if a file is missing or damaged.

    Such a file is marked, so that the next upload of the same bytes writes the file again.
    """

    help = "Check that all stored files of themes, articles and scripts exist and are undamaged."

    def handle(self, *args: object, **options: object) -> None:
        lost_count = 0
        with all_shops_scope():
            for content in FileContent.objects.select_related("shop").order_by("pk").iterator():
                if (not content.stored and not blob_store.describe_uses(content)) or blob_store.is_blob_intact(content):
                    continue
                blob_store.mark_blob_lost(content)
                lost_count += 1
                uses = ", ".join(blob_store.describe_uses(content)) or "nothing"
                self.stderr.write(f"{content.shop.domain}: {content.name} is missing or damaged (used by: {uses})")
        if lost_count:
            raise CommandError(f"{lost_count} files are missing or damaged.")
        self.stdout.write("All files are present and undamaged.")
