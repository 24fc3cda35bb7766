"""``manage.py check_stock``: does every level equal the sum of its movements?"""

from django.core.management.base import BaseCommand, CommandError

from apps.inventory.domain.ledger import differences


class Command(BaseCommand):
    """Proves the ledger on the whole database; ends with exit code 1 where a level and its movements differ."""

    help = "Checks that every inventory level equals the sum of its stock movements, in every shop."

    def handle(self, *args: object, **options: object) -> None:
        """Check, and list what differs."""
        found = list(differences())
        for difference in found:
            self.stderr.write(str(difference))
        if found:
            raise CommandError(f"{len(found)} inventory levels differ from their ledger.")
        self.stdout.write("Every inventory level equals the sum of its movements.")
