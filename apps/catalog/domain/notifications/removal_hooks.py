"""A hook for apps with rows that show products and variants that are being deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.core.registry import Registry


@dataclass(frozen=True, slots=True)
class Removal:
    """The products and variants that are about to be deleted. The variants of these products are not listed."""

    product_ids: Sequence[int] = ()
    variant_ids: Sequence[int] = ()


class RemovalListener(Protocol):
    """A function that is called in the transaction of a deletion, before the rows are deleted."""

    def __call__(self, removal: Removal, *, actor: str) -> None:
        """Handle the deletion of products or variants."""


removal_listeners = Registry[str, RemovalListener]("listeners for deleted products")


def notify_removal_listeners(removal: Removal, *, actor: str) -> None:
    for listener in removal_listeners.values():
        listener(removal, actor=actor)
