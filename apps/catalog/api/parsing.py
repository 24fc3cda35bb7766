"""Parse request bodies of products, variants and images into service input, and report all errors together."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from django.utils.translation import gettext

from apps.catalog.api.fields import parse_id, parse_texts
from apps.catalog.api.serializers import ImageBody, ProductSerializer, VariantSerializer
from apps.catalog.domain.fulfillment_service_choices import MANUAL, get_service_handles
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts, VariantInput
from apps.catalog.domain.options import COLUMNS
from apps.catalog.domain.variants import MAX_VARIANTS
from apps.catalog.models import Product
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, too_many
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.resources.serializers import Resource, check_body
from apps.core.types import Attrs, Errors, RequestData
from apps.metafields.domain import references
from apps.metafields.domain import write as metafields
from apps.metafields.domain.write import MetafieldInput

_ITEM = "inventory_item."
# Body fields for a product's SEO title and description, which older clients send, with their metafield keys.
GLOBAL_METAFIELDS = {"metafields_global_title_tag": "title_tag", "metafields_global_description_tag": "description_tag"}


def parse_product(
    version: str,
    data: RequestData,
    *,
    instance: Product | None,
    stored_images: Mapping[int, StoredImage],
    upload_errors: Mapping[int, DomainError],
) -> tuple[Attrs, ProductParts]:
    """Parse the body of a product.

    ``stored_images`` and ``upload_errors`` contain the stored files, or the errors, of new images. The keys are indexes
    in the body's list of images.

    Raises:
        Unprocessable: The body is invalid. The exception contains all errors as ``{field: messages}``.
    """
    if instance is None:
        data = remove_part_ids(data)
    attrs, errors = check_body(ProductSerializer, version, data, instance=instance)
    if too_many_metafields := _check_metafield_count(data):
        raise Unprocessable({**errors, **too_many_metafields})
    with references.batch_references([data.get("variants"), data.get("images"), data.get("metafields")]):
        parts = ProductParts(
            options=_parse_options(data.get("options"), errors),
            variants=_parse_variants(version, data.get("variants"), errors, creating=instance is None),
            images=_parse_images(version, data.get("images"), stored_images, upload_errors, errors),
            metafields=[*parse_object_metafields(data, errors), *_parse_global_metafields(data, errors)],
        )
    if errors:
        raise Unprocessable(errors)
    return attrs, parts


def parse_variant(version: str, data: RequestData) -> VariantInput:
    """Parse the body of a variant. Raise ``Unprocessable`` with all errors if it is invalid."""
    errors: Errors = {}
    variant = _parse_variant(version, data, errors, "")
    _check_fulfillment_services({"": variant}, errors)
    if errors:
        raise Unprocessable(errors)
    return variant


def parse_image(version: str, data: RequestData, stored_image: StoredImage | None) -> ImageInput:
    """Parse the body of an image with a stored file. Raise ``Unprocessable`` with all errors if it is invalid."""
    errors: Errors = {}
    image = _parse_image(version, data, stored_image, errors, "")
    if errors:
        raise Unprocessable(errors)
    return image


def _check_metafield_count(data: RequestData) -> Errors:
    """Return errors if the variants together, or the images together, have too many metafields for one request."""
    errors: Errors = {}
    for name in ("variants", "images"):
        parts = data.get(name)
        objects = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
        metafield_lists = [part.get("metafields") for part in objects]
        if sum(len(rows) for rows in metafield_lists if isinstance(rows, list)) > metafields.MAX_NESTED:
            errors[name] = [too_many("metafields", metafields.MAX_NESTED)]
    return errors


def parse_object_metafields(data: RequestData, errors: Errors, prefix: str = "") -> list[MetafieldInput]:
    rows = data.get("metafields")
    return [] if rows is None else _parse_metafields(rows, errors, f"{prefix}metafields")


def _parse_metafields(rows: object, errors: Errors, prefix: str) -> list[MetafieldInput]:
    try:
        return list(metafields.validate_metafields(rows, prefix=prefix))
    except DomainError as error:
        errors.update(error.errors)
        return []


def _parse_global_metafields(data: RequestData, errors: Errors) -> list[MetafieldInput]:
    drafts: list[MetafieldInput] = []
    for field, key in GLOBAL_METAFIELDS.items():
        if data.get(field) in (None, ""):
            continue
        row = {"namespace": "global", "key": key, "type": "single_line_text_field", "value": data[field]}
        row_errors: Errors = {}
        drafts += _parse_metafields([row], row_errors, field)
        if row_errors:
            errors[field] = next(iter(row_errors.values()))
    return drafts


def _parse_objects(value: object, name: str, limit: int, errors: Errors) -> list[RequestData] | None:
    """Return a list of objects, or None if the value is missing or invalid."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        errors[name] = [INVALID]
        return None
    if len(value) > limit:
        errors[name] = [too_many("entries", limit)]
        return None
    return value


def _parse_id(item: RequestData, errors: Errors, prefix: str) -> int | None:
    if item.get("id") is None:
        return None
    pk = parse_id(item["id"])
    if pk is None:
        errors[f"{prefix}id"] = [INVALID]
    return pk


def _parse_options(value: object, errors: Errors) -> list[OptionInput] | None:
    # This limit only keeps parsing fast. The service checks the maximum number of options.
    rows = _parse_objects(value, "options", 100, errors)
    if rows is None:
        return None
    options = []
    for index, item in enumerate(rows):
        prefix = f"options.{index}."
        name = parse_texts([item.get("name")])
        if name is None:
            errors[f"{prefix}name"] = [BLANK] if item.get("name") in (None, "") else [INVALID]
        values = parse_texts(item["values"]) if item.get("values") is not None else []
        if values is None:
            errors[f"{prefix}values"] = [INVALID]
        options.append(OptionInput(name[0] if name else "", list(values or []), _parse_id(item, errors, prefix)))
    return options or None


def _parse_variants(version: str, value: object, errors: Errors, *, creating: bool) -> list[VariantInput] | None:
    rows = _parse_objects(value, "variants", MAX_VARIANTS, errors)
    if rows is None:
        return None
    if not rows and not creating:
        errors["variants"] = [gettext("must have at least one variant")]
    prefixes = [f"variants.{index}." for index in range(len(rows))]
    variants = [_parse_variant(version, item, errors, prefix) for item, prefix in zip(rows, prefixes, strict=True)]
    _check_fulfillment_services(dict(zip(prefixes, variants, strict=True)), errors)
    return variants


def _check_fulfillment_services(variants: Mapping[str, VariantInput], errors: Errors) -> None:
    """Add an error for each unknown fulfillment service. ``variants`` is keyed by the prefix of error paths."""
    services = {prefix: variant.attrs.get("fulfillment_service") for prefix, variant in variants.items()}
    unknown = set(services.values()) - {None, MANUAL}
    if unknown:
        unknown -= get_service_handles()
    errors |= {f"{prefix}fulfillment_service": [NOT_IN_LIST] for prefix, name in services.items() if name in unknown}


def _parse_variant(version: str, data: RequestData, errors: Errors, prefix: str) -> VariantInput:
    attrs = _parse_columns(VariantSerializer, version, data, errors, prefix)
    for column in COLUMNS:
        if attrs.get(column) == "":
            attrs[column] = None
    return VariantInput(
        attrs={name: value for name, value in attrs.items() if not name.startswith(_ITEM)},
        item={name.removeprefix(_ITEM): value for name, value in attrs.items() if name.startswith(_ITEM)},
        id=_parse_id(data, errors, prefix),
        metafields=parse_object_metafields(data, errors, prefix),
    )


def _parse_images(
    version: str,
    value: object,
    stored_images: Mapping[int, StoredImage],
    upload_errors: Mapping[int, DomainError],
    errors: Errors,
) -> list[ImageInput] | None:
    rows = _parse_objects(value, "images", MAX_IMAGES, errors)
    if rows is None:
        return None
    image_inputs = []
    for index, item in enumerate(rows):
        prefix = f"images.{index}."
        image = _parse_image(version, item, stored_images.get(index), errors, prefix)
        image.id = _parse_id(item, errors, prefix)
        if index in upload_errors:
            errors.update({f"{prefix}{name}": messages for name, messages in upload_errors[index].errors.items()})
        elif image.id is None and image.image is None:
            errors.setdefault(f"{prefix}image", [BLANK])
        image_inputs.append(image)
    return image_inputs


def _parse_image(
    version: str, data: RequestData, stored_image: StoredImage | None, errors: Errors, prefix: str
) -> ImageInput:
    attrs = _parse_columns(ImageBody, version, data, errors, prefix)
    position, variant_ids = attrs.pop("position", None), attrs.pop("variant_ids", None)
    return ImageInput(
        image=stored_image,
        attrs=attrs,
        position=position,
        variant_ids=variant_ids,
        metafields=parse_object_metafields(data, errors, prefix),
    )


def _parse_columns(serializer: Resource, version: str, data: RequestData, errors: Errors, prefix: str) -> Attrs:
    attrs, field_errors = check_body(serializer, version, data)
    errors.update({f"{prefix}{name}": messages for name, messages in field_errors.items()})
    return attrs


def remove_part_ids(data: RequestData) -> RequestData:
    """Remove the ids of variants and images. A new product ignores the ids that a copied product still has."""
    parts = {name: data[name] for name in ("variants", "images") if isinstance(data.get(name), list)}
    return {
        **data,
        **{
            name: [
                {key: value for key, value in row.items() if key != "id"} if isinstance(row, Mapping) else row
                for row in rows
            ]
            for name, rows in parts.items()
        },
    }


def list_new_images(images: object) -> Sequence[tuple[int, RequestData]]:
    """Return the entries of the list that contain a new image, together with their indexes."""
    if not isinstance(images, list) or len(images) > MAX_IMAGES:
        return []
    return [(index, item) for index, item in enumerate(images) if has_image(item) and item.get("id") is None]


def has_image(entry: object) -> TypeGuard[RequestData]:
    """Return True if an object in a request body contains a new image."""
    return isinstance(entry, Mapping) and (entry.get("attachment") is not None or entry.get("src") is not None)
