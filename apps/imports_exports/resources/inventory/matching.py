"""Find the variants and locations that the rows of an inventory table refer to, with a fixed number of queries."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from apps.catalog.models import Variant
from apps.core.i18n.messages import define_message, define_text
from apps.imports_exports.domain.rows import Body, get_text, refuse_cell
from apps.imports_exports.resources.inventory.table import LOCATION, SKU
from apps.imports_exports.resources.products.inventory_levels import AMBIGUOUS_LOCATION, UNKNOWN_LOCATION
from apps.imports_exports.resources.products.table import HANDLE
from apps.inventory.models import Location

_NO_SKU = define_message("inventory_imports.unknown_sku", "there is no variant with the SKU {sku}")
_NO_HANDLE = define_message("inventory_imports.unknown_handle", "there is no product with the handle {handle}")
_NO_VARIANT = define_message(
    "inventory_imports.unknown_variant", "the product has no variant with the options {options}"
)
_SEVERAL = define_message(
    "inventory_imports.several_variants", "{count} variants have this SKU. Add the handle and the option values"
)
_SEVERAL_OPTIONS = define_text(
    "inventory_imports.no_options", "the product has several variants. Add a SKU or the option values"
)
_NO_IDENTIFIER = define_text("inventory_imports.no_identifier", "is blank. Enter a SKU or a handle")
_OF_SERVICE = define_message(
    "inventory_imports.location_of_service", "{name} belongs to a fulfillment service, which reports its own stock"
)
_MAX_QUOTED = 100


def get_option_values(body: Body) -> tuple[str, ...]:
    options = body.get("options")
    return tuple(str(option) for option in options) if isinstance(options, list) else ()


class VariantIndex:
    """The variants that rows may refer to."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        variants = Variant.objects.select_related("inventory_item", "product").order_by("product_id", "position", "pk")
        skus = {sku for body in bodies if (sku := get_text(body, "sku"))}
        handles = {handle for body in bodies if not get_text(body, "sku") and (handle := get_text(body, "handle"))}
        self._by_sku: defaultdict[str, list[Variant]] = defaultdict(list)
        self._by_handle: defaultdict[str, list[Variant]] = defaultdict(list)
        for variant in variants.filter(inventory_item__sku__in=skus) if skus else ():
            self._by_sku[variant.inventory_item.sku].append(variant)
        for variant in variants.filter(product__handle__in=handles) if handles else ():
            self._by_handle[variant.product.handle].append(variant)

    def find(self, body: Body) -> Variant:
        """Return the variant of a row, by SKU, or else by handle and option values. Raise ``RowRefused`` if unclear."""
        sku, handle, options = get_text(body, "sku"), get_text(body, "handle"), get_option_values(body)
        refuse = partial(refuse_cell, SKU if sku else HANDLE)
        if not sku and not handle:
            raise refuse(_NO_IDENTIFIER)
        if sku:
            matches = self._by_sku.get(sku, [])
            if not matches:
                raise refuse(_NO_SKU(sku=repr(sku[:_MAX_QUOTED])))
            if len(matches) > 1:
                matches = [row for row in matches if row.product.handle == handle] or matches
        else:
            matches = self._by_handle.get(handle, [])
            if not matches:
                raise refuse(_NO_HANDLE(handle=repr(handle[:_MAX_QUOTED])))
        if options and (len(matches) > 1 or not sku):
            with_options = [row for row in matches if row.options == options]
            if not with_options and not sku:
                raise refuse(_NO_VARIANT(options=" / ".join(options)[:_MAX_QUOTED]))
            matches = with_options or matches
        if len(matches) > 1:
            raise refuse(_SEVERAL(count=len(matches)) if sku else _SEVERAL_OPTIONS)
        return matches[0]


def load_locations() -> Mapping[str, Sequence[Location]]:
    """Return the active locations, keyed by name in lower case."""
    locations: defaultdict[str, list[Location]] = defaultdict(list)
    for location in Location.objects.filter(active=True).order_by("pk"):
        locations[location.name.strip().casefold()].append(location)
    return locations


def find_location(name: str, locations: Mapping[str, Sequence[Location]]) -> Location:
    matches = locations.get(name.strip().casefold(), ())
    if len(matches) != 1:
        error = (AMBIGUOUS_LOCATION if matches else UNKNOWN_LOCATION)(name=repr(name[:_MAX_QUOTED]))
        raise refuse_cell(LOCATION, error)
    if matches[0].legacy:
        raise refuse_cell(LOCATION, _OF_SERVICE(name=repr(matches[0].name)))
    return matches[0]
