"""The option ``--shop`` of commands that work in one shop."""

from django.core.management.base import CommandError

from apps.core.tenancy.models import Shop


def get_target_shop(domain: str | None) -> Shop:
    """Return the shop with a domain. Without a domain, return the only shop.

    Raises:
        CommandError: There is no such shop, or there are several shops and no domain was given.
    """
    shops = Shop.objects.filter(domain=domain.lower()) if domain else Shop.objects.all()
    matches = list(shops[:2])
    if not matches:
        raise CommandError(f"No shop has the domain {domain}." if domain else "There are no shops yet.")
    if len(matches) > 1:
        raise CommandError("There are several shops. Choose a shop with --shop.")
    return matches[0]
