from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.refunds.domain.gateway_reconciliation import DEFAULT_DAYS, find_gateway_differences


class Command(BaseCommand):
    """Compare all refunds made through gateways, and exit with code 1 if there are differences."""

    help = "Compare the refunds of every shop with the records of its payment gateways, without changing anything."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, default=DEFAULT_DAYS, help="the number of days to compare")

    def handle(self, *args: object, **options: int) -> None:
        count = 0
        for difference in find_gateway_differences(days=options["days"]):
            self.stderr.write(difference)
            count += 1
        if count:
            raise CommandError(f"{count} differences between gateways and refunds.")
        self.stdout.write("No differences.")
