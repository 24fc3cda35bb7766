"""``manage.py check_contents``: is every stored file there, with the bytes that it had?"""

from django.core.management.base import BaseCommand, CommandError

from apps.content.domain import contents
from apps.content.models import FileContent
from apps.ground.tenancy import every_shop


class Command(BaseCommand):
    """Reads every stored file; ends with exit code 1 where one is lost or damaged.

    Such a file is noted, so that it is written again as soon as somebody uploads the same bytes.
    """

    help = "Checks that every file of themes, articles and scripts is in the storage with the bytes that it had."

    def handle(self, *args: object, **options: object) -> None:
        """Check, and list what is lost and who uses it."""
        lost = 0
        with every_shop():
            for content in FileContent.objects.select_related("shop").order_by("pk").iterator():
                if (not content.stored and not contents.uses_of(content)) or contents.is_intact(content):
                    continue
                contents.note_loss(content)
                lost += 1
                uses = ", ".join(contents.uses_of(content)) or "nothing"
                self.stderr.write(f"{content.shop.domain}: {content.name} is lost or damaged; used by {uses}")
        if lost:
            raise CommandError(f"{lost} files are lost or damaged.")
        self.stdout.write("Every file is there with the bytes that it had.")
