"""Serializers for collections.

The views add ``products_count``. Only responses with a single collection contain this number, because counting the
products costs a query.
"""

from collections.abc import Mapping
from datetime import datetime

from apps.catalog.api.fields import HandleField, HtmlField, parse_id
from apps.catalog.api.parsing import parse_object_metafields
from apps.catalog.api.serializers import set_published_at
from apps.catalog.domain.collections.collects import MAX_PLACEMENTS, Placement
from apps.catalog.domain.collections.lifecycle import CollectionParts
from apps.catalog.domain.collections.smart_rules import COLUMNS, RELATIONS, RulesRefused, check_rules
from apps.catalog.domain.image_files import StoredImage, get_image_url
from apps.catalog.models import Collection, CustomCollection, SmartCollection
from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.media.uploads import UploadRefused
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ApiField,
    BooleanField,
    DateTimeField,
    JsonField,
    ModelDerivedField,
    OptionalComputedField,
    PublishedField,
    ReadOnlyColumn,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.serializers import Resource, ResourceSerializer, check_body
from apps.core.types import Attrs, Errors, Rendered, RequestData


def render_image(  # noqa: PLR0917 - the columns of one row
    context: RenderContext, key: str, name: str, alt: str | None, width: int, height: int, created_at: datetime | None
) -> Rendered | None:
    if not key or created_at is None:
        return None
    return {
        "created_at": created_at.astimezone(context.tz).isoformat(timespec="seconds"),
        "alt": alt,
        "width": width,
        "height": height,
        "src": get_image_url(context.shop.pk, key, name),
    }


class _BaseCollectionSerializer(ResourceSerializer[Collection]):
    handle: ApiField = ModelDerivedField()
    title = ModelDerivedField()
    updated_at = ModelDerivedField()
    body_html: ApiField = ModelDerivedField()
    published_at = DateTimeField(read_only=True)
    sort_order = ModelDerivedField()
    template_suffix: ApiField = ModelDerivedField()
    published_scope = ReadOnlyColumn()
    admin_graphql_api_id = global_id_field("Collection")
    image = OptionalComputedField(
        render_image,
        "image_key",
        "image_name",
        "image_alt",
        "image_width",
        "image_height",
        "image_created_at",
        schema={"type": "object"},
    )

    class Meta:
        model: type[Collection] = Collection


class CollectionSerializer(_BaseCollectionSerializer):
    collection_type = ReadOnlyColumn("kind")


class _WritableCollectionSerializer(_BaseCollectionSerializer):
    body_html = HtmlField()
    handle = HandleField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)

    def validate_across_fields(self, attrs: Attrs, instance: Collection | None, errors: Errors) -> None:
        """Set ``published_at`` from ``published``, and ignore a blank handle of an existing collection."""
        set_published_at(attrs, instance.published_at if instance else None)
        if instance is not None and attrs.get("handle") == "":
            del attrs["handle"]


class CustomCollectionSerializer(_WritableCollectionSerializer):
    published = PublishedField(required=False)

    class Meta:
        model = CustomCollection


class RulesField(JsonField):
    """A field that accepts rules without parsing them. A JSON field would change conditions that are numbers."""

    def to_internal_value(self, data: object) -> object:
        """Return the data unchanged. ``validate_across_fields`` validates the rules."""
        return data


class SmartCollectionSerializer(_WritableCollectionSerializer):
    disjunctive = ModelDerivedField()
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

    def validate_across_fields(self, attrs: Attrs, instance: Collection | None, errors: Errors) -> None:
        super().validate_across_fields(attrs, instance, errors)
        if "rules" in attrs:
            try:
                attrs["rules"] = check_rules(attrs["rules"])
            except RulesRefused as error:
                errors.update(error.errors)


def parse_collection(
    serializer: Resource,
    version: str,
    data: RequestData,
    *,
    instance: Collection | None,
    image: StoredImage | None,
    upload_error: UploadRefused | None,
) -> tuple[Attrs, CollectionParts]:
    """Parse the body of a collection. ``upload_error`` is the error of a new image that could not be stored.

    Raises:
        Unprocessable: The body is invalid. The exception contains all errors as ``{field: messages}``.
    """
    attrs, errors = check_body(serializer, version, data, instance=instance)
    parts = CollectionParts(
        image=image,
        removes_image="image" in data and data["image"] in (None, ""),
        placements=_parse_placements(data.get("collects"), errors) if serializer is CustomCollectionSerializer else (),
        metafields=parse_object_metafields(data, errors),
    )
    _parse_image(data.get("image"), attrs, parts, errors)
    if upload_error is not None:
        errors.update(upload_error.errors)
    if errors:
        raise Unprocessable(errors)
    return attrs, parts


def _parse_image(value: object, attrs: Attrs, parts: CollectionParts, errors: Errors) -> None:
    if value in (None, ""):
        return
    if not isinstance(value, Mapping):
        errors["image"] = [INVALID]
        return
    alt = value.get("alt")
    if alt is not None and (not isinstance(alt, str) or len(alt) > 512):
        errors["image.alt"] = [INVALID]
    elif "alt" in value or parts.image is not None:
        attrs["image_alt"] = alt


def _parse_placements(value: object, errors: Errors) -> list[Placement]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_PLACEMENTS:
        errors["collects"] = [INVALID]
        return []
    placements = []
    for index, item in enumerate(value):
        numbers: dict[str, int | None] = {}
        for name in ("id", "product_id", "position"):
            value_id = item.get(name) if isinstance(item, Mapping) else None
            numbers[name] = parse_id(value_id)
            if value_id is not None and numbers[name] is None:
                errors[f"collects.{index}.{name}"] = [INVALID]
        if numbers["id"] is None and numbers["product_id"] is None:
            errors.setdefault(f"collects.{index}.product_id", [BLANK])
        placements.append(Placement(numbers["product_id"], numbers["position"], numbers["id"]))
    return placements
