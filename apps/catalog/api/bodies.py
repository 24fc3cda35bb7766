"""Bodies of products and their parts, read into what the services take; all errors of a body are found at once."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from apps.api.errors import Unprocessable
from apps.api.resources.serializers import Resource, check_body
from apps.api.shapes import Data, Errors
from apps.catalog.api.fields import read_id, texts_in
from apps.catalog.api.resources import ImageBody, ProductSerializer, VariantSerializer
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.domain.inputs import Attrs, ImageInput, OptionInput, Parts, VariantInput
from apps.catalog.domain.options import COLUMNS
from apps.catalog.domain.pictures import Picture
from apps.catalog.domain.variants import MAX_VARIANTS
from apps.catalog.models import Product
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, too_many
from apps.metafields.domain import references
from apps.metafields.domain import setting as metafields
from apps.metafields.domain.setting import Draft

_ITEM = "inventory_item."
# The search engine texts of a product, which older clients send as fields of their own.
GLOBAL = {"metafields_global_title_tag": "title_tag", "metafields_global_description_tag": "description_tag"}


def read_product(
    version: str,
    data: Data,
    *,
    instance: Product | None,
    taken: Mapping[int, Picture],
    refused: Mapping[int, DomainError],
) -> tuple[Attrs, Parts]:
    """Read the body of a product.

    Args:
        version: The API version of the request.
        data: The object under ``product``.
        instance: The product to be changed; None for a create.
        taken: The pictures of new images that were taken in, by their place in the body's list.
        refused: Why the others were not.

    Raises:
        Unprocessable: ``{field: messages}`` of everything that does not fit.
    """
    attrs, errors = check_body(ProductSerializer, version, data, instance=instance)
    if too_many_metafields := _too_many_metafields(data):
        raise Unprocessable({**errors, **too_many_metafields})
    with references.together([data.get("variants"), data.get("images"), data.get("metafields")]):
        parts = Parts(
            options=_options(data.get("options"), errors),
            variants=_variants(version, data.get("variants"), errors, creating=instance is None),
            images=_images(version, data.get("images"), taken, refused, errors),
            metafields=[*read_metafields(data, errors), *_global_metafields(data, errors)],
        )
    if errors:
        raise Unprocessable(errors)
    return attrs, parts


def read_variant(version: str, data: Data) -> VariantInput:
    """Read the body of a variant.

    Raises:
        Unprocessable: ``{field: messages}`` of everything that does not fit.
    """
    errors: Errors = {}
    wanted = _variant(version, data, errors, "")
    if errors:
        raise Unprocessable(errors)
    return wanted


def read_image(version: str, data: Data, picture: Picture | None) -> ImageInput:
    """Read the body of an image, whose file was taken in before.

    Raises:
        Unprocessable: ``{field: messages}`` of everything that does not fit.
    """
    errors: Errors = {}
    wanted = _image(version, data, picture, errors, "")
    if errors:
        raise Unprocessable(errors)
    return wanted


def _too_many_metafields(data: Data) -> Errors:
    """Refuse more metafields of parts than one request can check and write in its time."""
    errors: Errors = {}
    for name in ("variants", "images"):
        parts = data.get(name)
        found = (
            [part.get("metafields") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
        )
        if sum(len(rows) for rows in found if isinstance(rows, list)) > metafields.MAX_OF_PARTS:
            errors[name] = [too_many("metafields", metafields.MAX_OF_PARTS)]
    return errors


def read_metafields(data: Data, errors: Errors, prefix: str = "") -> list[Draft]:
    """The metafields of an object, checked; none where it names none."""
    rows = data.get("metafields")
    return [] if rows is None else _checked_metafields(rows, errors, f"{prefix}metafields")


def _checked_metafields(rows: object, errors: Errors, prefix: str) -> list[Draft]:
    try:
        return list(metafields.check_many(rows, prefix=prefix))
    except DomainError as error:
        errors.update(error.errors)
        return []


def _global_metafields(data: Data, errors: Errors) -> list[Draft]:
    drafts: list[Draft] = []
    for field, key in GLOBAL.items():
        if data.get(field) in (None, ""):
            continue
        row = {"namespace": "global", "key": key, "type": "single_line_text_field", "value": data[field]}
        found: Errors = {}
        drafts += _checked_metafields([row], found, field)
        if found:
            errors[field] = next(iter(found.values()))
    return drafts


def _rows(value: object, name: str, limit: int, errors: Errors) -> list[Data] | None:
    """A list of objects; None where the body names none, or something else."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        errors[name] = [INVALID]
        return None
    if len(value) > limit:
        errors[name] = [too_many("entries", limit)]
        return None
    return value


def _id(item: Data, errors: Errors, prefix: str) -> int | None:
    if item.get("id") is None:
        return None
    found = read_id(item["id"])
    if found is None:
        errors[f"{prefix}id"] = [INVALID]
    return found


def _options(value: object, errors: Errors) -> list[OptionInput] | None:
    # How many a product may have is a rule, not a question of form; this only bounds the work.
    rows = _rows(value, "options", 100, errors)
    if rows is None:
        return None
    found = []
    for index, item in enumerate(rows):
        prefix = f"options.{index}."
        name = texts_in([item.get("name")])
        if name is None:
            errors[f"{prefix}name"] = [BLANK] if item.get("name") in (None, "") else [INVALID]
        values = texts_in(item["values"]) if item.get("values") is not None else []
        if values is None:
            errors[f"{prefix}values"] = [INVALID]
        found.append(OptionInput(name[0] if name else "", list(values or []), _id(item, errors, prefix)))
    return found or None


def _variants(version: str, value: object, errors: Errors, *, creating: bool) -> list[VariantInput] | None:
    rows = _rows(value, "variants", MAX_VARIANTS, errors)
    if rows is None:
        return None
    if not rows and not creating:
        errors["variants"] = [gettext("must have at least one variant")]
    return [_variant(version, item, errors, f"variants.{index}.") for index, item in enumerate(rows)]


def _variant(version: str, data: Data, errors: Errors, prefix: str) -> VariantInput:
    attrs = _checked(VariantSerializer, version, data, errors, prefix)
    for column in COLUMNS:
        if attrs.get(column) == "":
            attrs[column] = None
    return VariantInput(
        attrs={name: value for name, value in attrs.items() if not name.startswith(_ITEM)},
        item={name.removeprefix(_ITEM): value for name, value in attrs.items() if name.startswith(_ITEM)},
        id=_id(data, errors, prefix),
        metafields=read_metafields(data, errors, prefix),
    )


def _images(
    version: str, value: object, taken: Mapping[int, Picture], refused: Mapping[int, DomainError], errors: Errors
) -> list[ImageInput] | None:
    rows = _rows(value, "images", MAX_IMAGES, errors)
    if rows is None:
        return None
    found = []
    for index, item in enumerate(rows):
        prefix = f"images.{index}."
        wanted = _image(version, item, taken.get(index), errors, prefix)
        wanted.id = _id(item, errors, prefix)
        if index in refused:
            errors.update({f"{prefix}{name}": messages for name, messages in refused[index].errors.items()})
        elif wanted.id is None and wanted.picture is None:
            errors.setdefault(f"{prefix}image", [BLANK])
        found.append(wanted)
    return found


def _image(version: str, data: Data, picture: Picture | None, errors: Errors, prefix: str) -> ImageInput:
    attrs = _checked(ImageBody, version, data, errors, prefix)
    position, variant_ids = attrs.pop("position", None), attrs.pop("variant_ids", None)
    return ImageInput(
        picture=picture,
        attrs=attrs,
        position=position,
        variant_ids=variant_ids,
        metafields=read_metafields(data, errors, prefix),
    )


def _checked(serializer: Resource, version: str, data: Data, errors: Errors, prefix: str) -> Attrs:
    attrs, found = check_body(serializer, version, data)
    errors.update({f"{prefix}{name}": messages for name, messages in found.items()})
    return attrs


def new_pictures(images: object) -> Sequence[tuple[int, Data]]:
    """The entries of a product's images that bring a new picture, with their places in the list."""
    if not isinstance(images, list) or len(images) > MAX_IMAGES:
        return []
    return [
        (index, item)
        for index, item in enumerate(images)
        if isinstance(item, Mapping)
        and item.get("id") is None
        and (item.get("attachment") is not None or item.get("src") is not None)
    ]
