"""``manage.py registries``: list what apps have registered with each other."""

from django.core.management.base import BaseCommand

from apps.core.registry import autodiscover, registries


class Command(BaseCommand):
    help = "List all registries, their entries and the module that registered each entry."

    def handle(self, *args: object, **options: object) -> None:
        # Pages and other commands import these modules only when they need a GraphQL schema.
        autodiscover("graphql")
        for name, registry in sorted(registries.items()):
            self.stdout.write(f"{name} ({registry.module}, {len(registry)})")
            keys = {key: _format_key(key) for key in registry}
            width = max(map(len, keys.values()), default=0)
            for key, text in keys.items():
                self.stdout.write(f"    {text:{width}}  {registry.registrants.get(key, '')}".rstrip())


def _format_key(key: object) -> str:
    """Return a key as text. Keys are names, models, functions and tuples of these."""
    if isinstance(key, tuple):
        return ", ".join(_format_key(part) for part in key if part is not None)
    return str(getattr(key, "__qualname__", key))
