"""``manage.py reconcile``: does what is kept agree with what it was worked out from?"""

from django.core.management.base import BaseCommand, CommandError

from apps.jobs.domain import reconciliation


class Command(BaseCommand):
    """Runs every check of the nightly reconciliation; ends with exit code 1 where something differs."""

    help = "Checks stock, totals, payments, customers' and products' figures of every shop; changes nothing."

    def handle(self, *args: object, **options: object) -> None:
        """Check, and list what differs."""
        found = 0
        for difference in reconciliation.differences():
            self.stderr.write(difference)
            found += 1
        checked = ", ".join(reconciliation.names())
        if found:
            raise CommandError(f"{found} differences. Checked: {checked}.")
        self.stdout.write(f"Everything agrees. Checked: {checked}.")
