"""What a row of a file makes of a product: the inputs of the catalog's services, and what differs by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext_noop

from apps.api.resources.serializers import check_body
from apps.catalog.api.bodies import GLOBAL, read_product
from apps.catalog.domain import weights
from apps.catalog.domain.inputs import ImageInput, Parts, VariantInput
from apps.catalog.domain.pictures import Picture
from apps.catalog.domain.price_tags import merged
from apps.catalog.models import Variant
from apps.exchange.domain.rows import Body, RowRefused
from apps.exchange.kinds.interface import file_version, rows_refused
from apps.exchange.kinds.products.known import Known, Places, differing, same
from apps.exchange.kinds.products.reading import ITEM
from apps.exchange.kinds.products.stock import Wanted, levels_wanted
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK
from apps.ground.retelling import number, retold, tells
from apps.inventory.api.items import InventoryItemSerializer
from apps.inventory.models import InventoryItem

_NO_OBJECTS = tells(gettext_noop("{name}: is not a list of objects"))
_TWICE = tells(gettext_noop("The variant '{title}' stands in the file twice"))
_BY_RULES = tells(gettext_noop("collection {title}: is filled by its rules"))
_GONE = tells(gettext_noop("The picture {src} is left out: it has gone meanwhile, import the file again"))
_BAD_PICTURE = tells(gettext_noop("The picture {src} is left out: it {reason}"), reason=retold)
_NO_PICTURE = tells(gettext_noop("The picture {src} is left out: {reason}"), reason=retold)
# What changes of a product, for the preview; a refusal is told before it that begins in the same way.
_VARIANT = tells(gettext_noop("variant {title}"))
_STOCK = tells(gettext_noop("stock at {place}"))
_IMAGE = tells(gettext_noop("image {number}"), number=number)
_COLLECTION = tells(gettext_noop("collection {title}"))
_ORDER = gettext_noop("order of variants")

_OPTIONS = ("option1", "option2", "option3")
_ITEM = ("cost", *ITEM)
# What only means something in the shop that the file comes from, or is read in another way.
_OF_VARIANT = frozenset({"id", "image_id", "position", "image", *_ITEM, "inventory_levels", "inventory_quantity"})
_OF_IMAGE = ("position", "alt")
# Of a line of JSON; in other shops they are other ones.
_LEFT_OUT = frozenset({"id", "variants", "images", "options", "collections", *GLOBAL})


@dataclass(slots=True)
class Drafted:
    """What is to be made or changed.

    Attributes:
        known: The product that there is; None for a new one.
        attrs: Columns of the product that differ.
        parts: Its parts that differ.
        stock: By the values of its options, what is to be where.
        collections: Titles of collections that it is to be put in.
        notes: What cannot be done, though the product can.
        changes: For the preview.
    """

    known: Known | None
    attrs: Attrs = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)
    stock: dict[tuple[str, ...], Wanted] = field(default_factory=dict)
    collections: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether the catalog's service has something to do."""
        parts = self.parts
        return bool(self.attrs or parts.options or parts.variants or parts.images or parts.metafields)


class Drafting:
    """Reads one body against the product that there is."""

    def __init__(self, body: Body, known: Known | None, fetched: Body | None, places: Places) -> None:
        """``fetched`` are the pictures that were had, by address; None where nobody went there."""
        self.body, self.known, self.fetched, self.places = body, known, fetched, places
        self.draft = Drafted(known)
        self.version = file_version()
        self._added: list[str] = []

    def read(self) -> Drafted:
        """The draft.

        Raises:
            RowRefused: The values do not fit.
            DomainError: The same, as a service says it.
        """
        known, draft = self.known, self.draft
        given = [self._with_options(row) for row in _objects(self.body, "variants")]
        matched = [self._matched(row) for row in given]
        images, pictures = self._images(given)
        data = {name: value for name, value in self.body.items() if name not in _LEFT_OUT}
        data |= self._texts()
        if self.body.get("options"):
            data["options"] = self.body["options"]
        if given:
            data["variants"] = [{name: row[name] for name in row if name not in _OF_VARIANT} for row in given]
        if images:
            data["images"] = [{name: row[name] for name in ("id", *_OF_IMAGE) if name in row} for row in images]
        with rows_refused():
            product = known.product if known else None
            attrs, parts = read_product(self.version, data, instance=product, taken=pictures, refused={})
        draft.attrs = attrs if known is None else differing(known.product, attrs)
        draft.parts.metafields = parts.metafields
        self._tell_attrs()
        self._settle_options(parts)
        self._settle_variants(parts.variants or [], given, matched)
        self._settle_images(parts.images or [])
        self._settle_collections()
        if known is None and not attrs.get("title"):
            raise RowRefused({"title": [BLANK]})
        return draft

    # --- variants ----------------------------------------------------------------------------------------------------

    def _with_options(self, row: Attrs) -> Attrs:
        return {name: value for name, value in row.items() if name not in _OPTIONS or value not in (None, "")}

    def _matched(self, row: Attrs) -> Variant | None:
        """The variant that a row is about: that with its options, else with its SKU, else the only one."""
        if self.known is None:
            return None
        variants = self.known.variants
        values = tuple(str(row[name]) for name in _OPTIONS if name in row)
        if values:
            found = [variant for variant in variants if variant.options == values]
            alone = len(variants) == 1 and variants[0].is_default
            return found[0] if found else variants[0] if alone and self._is_first(row) else None
        if row.get("sku"):
            found = [variant for variant in variants if variant.inventory_item.sku == row["sku"]]
            if len(found) == 1:
                return found[0]
        if len(variants) > 1:
            raise RowRefused(
                gettext_noop("A row does not say which variant it is: give the values of its options, or its SKU")
            )
        return variants[0]

    def _is_first(self, row: Attrs) -> bool:
        """A variant without options gives way to the first that has some."""
        first = next(iter(_objects(self.body, "variants")), None)
        return first is not None and self._with_options(first) == row

    def _settle_variants(
        self, inputs: Sequence[VariantInput], given: Sequence[Attrs], matched: Sequence[Variant | None]
    ) -> None:
        by_variant: dict[int, VariantInput] = {}
        new: list[VariantInput] = []
        for row, wanted, variant in zip(given, inputs, matched, strict=True):
            wanted.attrs.pop("position", None)
            wanted.item |= self._item(row, variant)
            self._show(row, wanted, variant)
            if variant is None:
                new.append(wanted)
                self._tell_new(wanted)
            elif variant.pk in by_variant:
                raise RowRefused(_TWICE.format(title=variant.title))
            else:
                self._prune(wanted, variant)
                by_variant[variant.pk] = wanted
            self._settle_stock(row, wanted, variant)
        known = self.known
        if known is None:
            self.draft.parts.variants = new or None
            return
        order = [variant.pk for variant in known.variants]
        named = [variant.pk for variant in matched if variant is not None]
        # A file that names them all says in which order they stand, too.
        moved = set(named) == set(order) and named != order
        changed = [
            wanted
            for wanted in by_variant.values()
            if wanted.attrs or wanted.item or wanted.picture or wanted.metafields
        ]
        if not (new or changed or moved or self.draft.parts.options):
            return
        if moved:
            self.draft.changes[_ORDER] = (None, "as in the file")
        rest = [by_variant.get(pk, VariantInput(id=pk)) for pk in (named if moved else order)]
        self.draft.parts.variants = [*rest, *new]

    def _item(self, row: Attrs, variant: Variant | None) -> Attrs:
        data = {name: row[name] for name in _ITEM if name in row}
        if not data:
            return {}
        item: InventoryItem | None = variant.inventory_item if variant else None
        attrs, errors = check_body(InventoryItemSerializer, self.version, data, instance=item)
        if errors:
            raise RowRefused(errors)
        return {name: value for name, value in attrs.items() if name in _ITEM}

    def _prune(self, wanted: VariantInput, variant: Variant) -> None:
        """Leave what differs of a variant that there is, and tell it."""
        wanted.id = variant.pk
        prices = wanted.attrs.get("fixed_prices")
        if "fixed_prices" in wanted.attrs and merged(variant.fixed_prices, prices or {}) == variant.fixed_prices:
            del wanted.attrs["fixed_prices"]
        wanted.attrs = differing(variant, wanted.attrs)
        wanted.item = differing(variant.inventory_item, wanted.item)
        told = dict(wanted.attrs)
        weights.settle(told, weight=variant.weight, unit=variant.weight_unit, grams=variant.grams)
        where = "" if variant.is_default else f"{variant.title}: "
        for name, value in told.items():
            if not same(getattr(variant, name), value):
                self.draft.changes[where + name] = (getattr(variant, name), value)
        for name, value in wanted.item.items():
            self.draft.changes[where + name] = (getattr(variant.inventory_item, name), value)

    def _tell_new(self, wanted: VariantInput) -> None:
        title = " / ".join(str(wanted.attrs[name]) for name in _OPTIONS if wanted.attrs.get(name)) or "Default Title"
        price, sku = wanted.attrs.get("price"), wanted.item.get("sku")
        self.draft.changes[_VARIANT.format(title=title)] = (None, "new" if price is None else str(price))
        if sku:
            self.draft.changes[f"{title}: sku"] = (None, sku)

    def _settle_stock(self, row: Attrs, wanted: VariantInput, variant: Variant | None) -> None:
        present = self.known.levels[variant.inventory_item_id] if self.known and variant else {self.places.primary: 0}
        levels = levels_wanted(row, present, self.places)
        if not levels:
            return
        chosen = [wanted.attrs.get(name) or (getattr(variant, name) if variant else None) for name in _OPTIONS]
        values = tuple(str(value) for value in chosen if value)
        self.draft.stock[values or ("Default Title",)] = levels
        for place, available in levels.items():
            where = _STOCK.format(place=self.places.by_id[place].name)
            label = where if len(values) < 1 or (variant and variant.is_default) else f"{' / '.join(values)}: {where}"
            self.draft.changes[label] = (present.get(place) if variant else None, available)

    def _settle_options(self, parts: Parts) -> None:
        if self.known is None:
            self.draft.parts.options = parts.options
            return
        names = [option.name for option in self.known.options]
        asked = [option.name for option in parts.options or []]
        values = [option.values for option in parts.options or []]
        reordered = any(values) and values != [option.values for option in self.known.options]
        if asked and (asked != names or reordered):
            self.draft.parts.options = parts.options
            self.draft.changes["options"] = (", ".join(names), ", ".join(asked))

    # --- images ------------------------------------------------------------------------------------------------------

    def _images(self, given: Sequence[Attrs]) -> tuple[list[Attrs], dict[int, Picture]]:
        """The entries of all images that are to be named, with the pictures of the new ones by their places."""
        rows = _objects(self.body, "images")
        named = {row.get("src") for row in rows}
        # A picture that only a variant names is one of the product, too.
        rows += [{"src": src} for src in dict.fromkeys(row.get("image") for row in given) if src and src not in named]
        kept: dict[int, Attrs] = {}
        new: list[tuple[Attrs, Picture]] = []
        for row in rows:
            src = row.get("src")
            image = self.known.image_at(src) if self.known and isinstance(src, str) and src else None
            if image is not None:
                kept[image.pk] = {**row, "id": image.pk}
            elif isinstance(picture := self._fetched(src), Picture):
                new.append(({name: row[name] for name in row if name != "id"}, picture))
        present = self.known.images if self.known else []
        entries = [*(kept.get(image.pk, {"id": image.pk}) for image in present), *(row for row, _ in new)]
        if not kept and not new:
            return [], {}
        return entries, {len(present) + place: picture for place, (_, picture) in enumerate(new)}

    def _fetched(self, src: object) -> Picture | None:
        """The picture that was had from an address; where none was, the report says why."""
        self._added.append(str(src))
        if self.fetched is None:
            return None
        found = self.fetched.get(str(src))
        if isinstance(found, Picture):
            return found
        self._added.pop()
        self.draft.notes.append(_without(str(src), found))
        return None

    def _show(self, row: Attrs, wanted: VariantInput, variant: Variant | None) -> None:
        """Let a variant show the picture that it names."""
        src = row.get("image")
        if not isinstance(src, str) or not src:
            return
        image = self.known.image_at(src) if self.known else None
        if image is not None:
            wanted.attrs["image_id"] = image.pk
        elif self.fetched is not None and isinstance(found := self.fetched.get(src), Picture):
            wanted.picture = found

    def _settle_images(self, inputs: Sequence[ImageInput]) -> None:
        present = {image.pk: image for image in self.known.images} if self.known else {}
        changed = False
        for wanted in inputs:
            image = present.get(wanted.id or 0)
            if image is None:
                changed = True
                continue
            wanted.attrs = differing(image, wanted.attrs)
            for name, value in wanted.attrs.items():
                self.draft.changes[f"{_IMAGE.format(number=image.position)}: {name}"] = (getattr(image, name), value)
            if wanted.position not in (None, image.position):
                self.draft.changes[f"{_IMAGE.format(number=image.position)}: position"] = (
                    image.position,
                    wanted.position,
                )
                changed = True
            changed |= bool(wanted.attrs)
        if self._added:
            self.draft.changes["images"] = (len(present), len(present) + len(self._added))
        if changed:
            self.draft.parts.images = list(inputs)

    # --- the product itself ------------------------------------------------------------------------------------------

    def _texts(self) -> Attrs:
        """What search engines show, where that differs; a text that is there is not taken away by a blank cell."""
        had = self.known.texts if self.known else {}
        given = {name: self.body[name] for name in GLOBAL if self.body.get(name)}
        differ = {name: value for name, value in given.items() if had.get(name) != value}
        for name, value in differ.items():
            self.draft.changes[name] = (had.get(name), value)
        return differ

    def _tell_attrs(self) -> None:
        for name, value in self.draft.attrs.items():
            if self.known is None and value in (None, ""):
                continue
            self.draft.changes[name] = (getattr(self.known.product, name) if self.known else None, value)

    def _settle_collections(self) -> None:
        titles = self.body.get("collections")
        for title in dict.fromkeys(titles if isinstance(titles, list) else ()):
            row = self.places.collections.get(title)
            if title in self.places.smart:
                if self.known is None:
                    self.draft.notes.append(_BY_RULES.format(title=title))
            elif not isinstance(title, str) or not title or len(title) > 255:
                raise RowRefused(gettext_noop("collections: is not a list of titles"))
            elif row is None or self.known is None or row.pk not in self.known.collections:
                self.draft.collections.append(title)
                self.draft.changes[_COLLECTION.format(title=title)] = (None, "is put in")


def _without(src: str, refusal: object) -> str:
    """Why a picture is left out."""
    if not isinstance(refusal, DomainError):
        return _GONE.format(src=src)
    said = ", ".join(message for messages in refusal.errors.values() for message in messages).rstrip(".")
    return (_NO_PICTURE if said[:1].isupper() else _BAD_PICTURE).format(src=src, reason=said)


def _objects(body: Body, name: str) -> list[Attrs]:
    """The objects under a name.

    Raises:
        RowRefused: It is no list of objects.
    """
    rows = body.get(name)
    if rows is None:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise RowRefused(_NO_OBJECTS.format(name=name))
    return [dict(row) for row in rows]
