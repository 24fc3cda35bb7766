"""Products as rows of a table, and back.

A product takes as many rows as it has variants or images, whichever are more; what belongs to the whole stands in the
first. A row is one of a variant where any cell of a variant is filled.
"""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_noop

from apps.exchange.domain.cells import is_true, word
from apps.exchange.domain.kinds import Shown
from apps.exchange.domain.rows import Body, Cells, Unreadable
from apps.exchange.kinds.lists import column, joined, parted
from apps.exchange.kinds.products.columns import (
    CLEARED,
    HANDLE,
    KEPT,
    LEVELS,
    OF_VARIANT,
    OPTION_NAMES,
    OPTION_VALUES,
    POLICY,
    VARIANT_CLEARED,
    VARIANT_FLAGS,
    VARIANT_KEPT,
)
from apps.ground.retelling import tells

_BAD_LEVEL = tells(gettext_noop("{levels}: {text} is not Location|quantity"))

_POLICIES = {"true": "continue", "yes": "continue", "false": "deny", "no": "deny"}


# --- out -------------------------------------------------------------------------------------------------------------


def product_cells(shown: Shown) -> Iterable[Shown]:
    """A product of the interface as rows."""
    first = {column: shown.get(name) for column, name in (CLEARED | KEPT).items()}
    first |= {
        "Published": word(shown["published_at"] is not None),
        "Status": shown["status"],
        "Gift Card": word(False),
        "Collection": joined([title] for title in shown["collections"]),
    }
    first |= {name: option["name"] for name, option in zip(OPTION_NAMES, shown["options"], strict=False)}
    variants, images = shown["variants"], shown["images"]
    for place in range(max(len(variants), len(images), 1)):
        row: Shown = {HANDLE: shown["handle"], **(first if place == 0 else {})}
        if place < len(variants):
            row |= _variant_cells(variants[place])
        if place < len(images):
            image = images[place]
            row |= {"Image Src": image["src"], "Image Position": image["position"], "Image Alt Text": image["alt"]}
        yield row


def _variant_cells(variant: Shown) -> Shown:
    levels = variant["inventory_levels"]
    return {
        **{column: variant[name] for column, name in (OPTION_VALUES | VARIANT_CLEARED | VARIANT_KEPT).items()},
        **{column: word(variant[name]) for column, name in VARIANT_FLAGS.items()},
        POLICY: variant["inventory_policy"],
        # The quantity says it all where just the first location has the goods.
        LEVELS: joined((level["location"], level["available"]) for level in levels) if variant["spread"] else "",
    }


# --- in --------------------------------------------------------------------------------------------------------------


def product_body(rows: Sequence[Cells]) -> Body:
    """The rows of one product as its body.

    Raises:
        Unreadable: A cell cannot be understood.
    """
    first = rows[0]
    if is_true(first.get("Gift Card", "")):
        raise Unreadable(gettext_noop("Gift Card: gift cards are no products here"))
    body: dict[str, object] = {"handle": first[HANDLE]}
    body |= {name: first[column] for column, name in CLEARED.items() if column in first}
    body |= {name: first[column] for column, name in KEPT.items() if first.get(column)}
    if first.get("Published"):
        body["published"] = is_true(first["Published"])
    if first.get("Status"):
        body["status"] = first["Status"].strip().lower()
    if first.get("Collection"):
        body["collections"] = list(column(first["Collection"]))
    names = [first[name] for name in OPTION_NAMES if first.get(name)]
    if names:
        body["options"] = [{"name": name} for name in names]
    variants = [_variant_body(row) for row in rows if any(row.get(name) for name in OF_VARIANT)]
    if variants:
        body["variants"] = variants
    if any("Image Src" in row for row in rows):
        body["images"] = list({row["Image Src"]: _image_body(row) for row in rows if row.get("Image Src")}.values())
    return body


def _variant_body(row: Cells) -> Shown:
    variant: Shown = {name: row[column] for column, name in (OPTION_VALUES | VARIANT_KEPT).items() if row.get(column)}
    variant |= {name: row[column] or None for column, name in VARIANT_CLEARED.items() if column in row}
    # A text, where the others are null.
    if "tax_code" in variant:
        variant["tax_code"] = row["Variant Tax Code"]
    variant |= {name: is_true(row[column]) for column, name in VARIANT_FLAGS.items() if row.get(column)}
    if row.get(POLICY):
        policy = row[POLICY].strip().lower()
        variant["inventory_policy"] = _POLICIES.get(policy, policy)
    if "weight_unit" in variant:
        variant["weight_unit"] = variant["weight_unit"].strip().lower()
    if row.get(LEVELS):
        variant["inventory_levels"] = [_level(values) for values in parted(row[LEVELS])]
    return variant


def _level(values: Sequence[str]) -> Shown:
    if len(values) != 2:
        raise Unreadable(_BAD_LEVEL.format(levels=LEVELS, text=repr("|".join(values))))
    return {"location": values[0], "available": values[1]}


def _image_body(row: Cells) -> Shown:
    image: Shown = {"src": row["Image Src"].strip()}
    if row.get("Image Position"):
        image["position"] = row["Image Position"]
    if "Image Alt Text" in row:
        image["alt"] = row["Image Alt Text"]
    return image
