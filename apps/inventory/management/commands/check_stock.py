"""``manage.py check_stock``: check that every inventory level equals the sum of its movements."""

from django.core.management.base import BaseCommand, CommandError

from apps.inventory.domain.ledger_check import find_differences


class Command(BaseCommand):
    """Checks the levels of all shops, and exits with code 1 if a level differs from the sum of its movements."""

    help = "Check that every inventory level equals the sum of its stock movements, in all shops."

    def handle(self, *args: object, **options: object) -> None:
        """Check all levels and print the differences."""
        mismatches = list(find_differences())
        for difference in mismatches:
            self.stderr.write(str(difference))
        if mismatches:
            raise CommandError(f"{len(mismatches)} inventory levels differ from their ledger.")
        self.stdout.write("Every inventory level equals the sum of its movements.")
