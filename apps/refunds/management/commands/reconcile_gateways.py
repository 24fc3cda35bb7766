"""``manage.py reconcile_gateways``: do the books of payment gateways agree with ours?"""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.refunds.domain.comparing import DAYS, differences


class Command(BaseCommand):
    """Compares every refund that a gateway moved; ends with exit code 1 where something differs."""

    help = "Compares the refunds of every shop with the books of its payment gateways; changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """How far back."""
        parser.add_argument("--days", type=int, default=DAYS, help="How far back is compared.")

    def handle(self, *args: object, **options: int) -> None:
        """Compare, and list what differs."""
        found = 0
        for difference in differences(days=options["days"]):
            self.stderr.write(difference)
            found += 1
        if found:
            raise CommandError(f"{found} differences between gateways and refunds.")
        self.stdout.write("The books of all gateways agree.")
