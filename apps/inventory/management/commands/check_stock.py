"""``manage.py check_stock``: check that every inventory level equals the sum of its inventory changes."""

from django.core.management.base import BaseCommand, CommandError

from apps.inventory.domain.consistency_checks import find_differences


class Command(BaseCommand):
    """Checks the levels of all shops. Exits with code 1 if a level differs from the sum of its inventory changes."""

    help = "Check that every inventory level equals the sum of its inventory changes, in all shops."

    def handle(self, *args: object, **options: object) -> None:
        mismatches = list(find_differences())
        for difference in mismatches:
            self.stderr.write(str(difference))
        if mismatches:
            raise CommandError(f"{len(mismatches)} inventory levels differ from the sum of their inventory changes.")
        self.stdout.write("Every inventory level equals the sum of its inventory changes.")
