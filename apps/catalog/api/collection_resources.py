"""Collections as the interface shows and takes them.

Source: ``wire/custom_collection.json``, ``wire/smart_collection.json``, ``wire/collection.json``. ``products_count`` is
in single reads only; it follows from other rows than the collection's, so the views add it.
"""

from collections.abc import Mapping
from datetime import datetime

from apps.api.context import Context
from apps.api.errors import Unprocessable
from apps.api.resources.fields import (
    ApiField,
    BooleanField,
    Column,
    Computed,
    DateTimeField,
    FromModel,
    GlobalId,
    JsonField,
    PublishedField,
    TextField,
)
from apps.api.resources.serializers import Resource, ResourceSerializer, check_body
from apps.api.shapes import Attrs, Data, Errors, Shown
from apps.catalog.api.bodies import read_metafields
from apps.catalog.api.fields import HandleField, HtmlField, read_id
from apps.catalog.api.resources import settle_publication
from apps.catalog.domain.collections.collects import MAX_PLACEMENTS, Placement
from apps.catalog.domain.collections.lifecycle import CollectionParts
from apps.catalog.domain.collections.smart_rules import COLUMNS, RELATIONS, RulesRefused, check_rules
from apps.catalog.domain.pictures import Picture, address_of
from apps.catalog.models import Collection, CustomCollection, SmartCollection
from apps.ground.phrases import BLANK, INVALID
from apps.media.intake import PictureRefused


def _image(  # noqa: PLR0917 - the columns of one row
    context: Context, key: str, name: str, alt: str | None, width: int, height: int, created_at: datetime | None
) -> Shown | None:
    if not key or created_at is None:
        return None
    return {
        "created_at": created_at.astimezone(context.tz).isoformat(timespec="seconds"),
        "alt": alt,
        "width": width,
        "height": height,
        "src": address_of(context.shop.pk, key, name),
    }


class _EitherKind(ResourceSerializer[Collection]):
    """What both kinds show."""

    handle: ApiField = FromModel()
    title = FromModel()
    updated_at = FromModel()
    body_html: ApiField = FromModel()
    published_at = DateTimeField(read_only=True)
    sort_order = FromModel()
    template_suffix: ApiField = FromModel()
    published_scope = Column()
    admin_graphql_api_id = GlobalId("Collection")
    image = Computed(
        _image,
        "image_key",
        "image_name",
        "image_alt",
        "image_width",
        "image_height",
        "image_created_at",
        schema={"type": ["object", "null"]},
    )

    class Meta:
        model: type[Collection] = Collection


class CollectionSerializer(_EitherKind):
    """A collection of either kind, read only."""

    collection_type = Column("kind")


class _OneKind(_EitherKind):
    """What both kinds take."""

    body_html = HtmlField()
    handle = HandleField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)

    def check(self, attrs: Attrs, instance: Collection | None, errors: Errors) -> None:
        """``published`` sets or takes the moment of publication; a handle that is blank stays what it is."""
        settle_publication(attrs, instance.published_at if instance else None)
        if instance is not None and attrs.get("handle") == "":
            del attrs["handle"]


class CustomCollectionSerializer(_OneKind):
    """A collection that is filled by hand."""

    published = PublishedField(required=False)

    class Meta:
        model = CustomCollection


class RulesField(JsonField):
    """Rules as they came; a condition may be a number, which JSON itself would not take back exactly."""

    def to_internal_value(self, data: object) -> object:
        """As it is; ``check`` reads it."""
        return data


class SmartCollectionSerializer(_OneKind):
    """A collection that is filled by rules."""

    disjunctive = FromModel()
    rules = RulesField(
        required=True,
        schema={
            "type": "array",
            "items": {
                "type": "object",
                "required": ["column", "relation", "condition"],
                "properties": {
                    "column": {"type": "string", "enum": list(COLUMNS)},
                    "relation": {"type": "string", "enum": list(RELATIONS)},
                    "condition": {"type": "string"},
                },
            },
        },
    )

    published = BooleanField(write_only=True, required=False)

    class Meta:
        model = SmartCollection

    def check(self, attrs: Attrs, instance: Collection | None, errors: Errors) -> None:
        """The rules make sense."""
        super().check(attrs, instance, errors)
        if "rules" in attrs:
            try:
                attrs["rules"] = check_rules(attrs["rules"])
            except RulesRefused as error:
                errors.update(error.errors)


def read_collection(
    serializer: Resource,
    version: str,
    data: Data,
    *,
    instance: Collection | None,
    picture: Picture | None,
    refused: PictureRefused | None,
) -> tuple[Attrs, CollectionParts]:
    """Read the body of a collection.

    Args:
        serializer: The kind's declaration.
        version: The API version of the request.
        data: The object under the kind's singular name.
        instance: The collection to be changed; None for a create.
        picture: The new picture that was taken in.
        refused: Why it was not.

    Raises:
        Unprocessable: ``{field: messages}`` of everything that does not fit.
    """
    attrs, errors = check_body(serializer, version, data, instance=instance)
    parts = CollectionParts(
        picture=picture,
        drops_picture="image" in data and data["image"] in (None, ""),
        placements=_placements(data.get("collects"), errors) if serializer is CustomCollectionSerializer else (),
        metafields=read_metafields(data, errors),
    )
    _read_image(data.get("image"), attrs, parts, errors)
    if refused is not None:
        errors.update(refused.errors)
    if errors:
        raise Unprocessable(errors)
    return attrs, parts


def _read_image(value: object, attrs: Attrs, parts: CollectionParts, errors: Errors) -> None:
    if value in (None, ""):
        return
    if not isinstance(value, Mapping):
        errors["image"] = [INVALID]
        return
    alt = value.get("alt")
    if alt is not None and (not isinstance(alt, str) or len(alt) > 512):
        errors["image.alt"] = [INVALID]
    elif "alt" in value or parts.picture is not None:
        attrs["image_alt"] = alt


def _placements(value: object, errors: Errors) -> list[Placement]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_PLACEMENTS:
        errors["collects"] = [INVALID]
        return []
    found = []
    for index, item in enumerate(value):
        numbers: dict[str, int | None] = {}
        for name in ("id", "product_id", "position"):
            given = item.get(name) if isinstance(item, Mapping) else None
            numbers[name] = read_id(given)
            if given is not None and numbers[name] is None:
                errors[f"collects.{index}.{name}"] = [INVALID]
        if numbers["id"] is None and numbers["product_id"] is None:
            errors.setdefault(f"collects.{index}.product_id", [BLANK])
        found.append(Placement(numbers["product_id"], numbers["position"], numbers["id"]))
    return found
