"""Create and change objects with the public client. Refusals fail with the API's errors."""

from typing import Any

import shopify


def create(kind: type[shopify.ShopifyResource], /, **values: object) -> Any:
    row = kind.create(values)
    assert row.id, row.errors.full_messages()
    return row


def save(row: shopify.ShopifyResource) -> None:
    assert row.save(), row.errors.full_messages()


def change(row: Any, **values: object) -> Any:
    """Find the object, change it, save it whole, and return it as it is found afterwards."""
    # pyactiveresource keeps the ids of parents, such as a product's, in this attribute only.
    parents = row._prefix_options
    found = type(row).find(row.id, **parents)
    for name, value in values.items():
        setattr(found, name, value)
    save(found)
    return type(row).find(row.id, **parents)
