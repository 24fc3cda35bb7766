"""Panel page for smart collections, with one form row per rule and a live preview."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.catalog.admin.collections import (
    _ABOUT,
    _IMAGE_FIELDSET,
    _PRODUCTS,
    _PUBLISHING,
    _STORE,
    CollectionAdmin,
    CollectionForm,
)
from apps.catalog.admin.images import thumbnail
from apps.catalog.admin.option_fields import TemplateWidget
from apps.catalog.domain.collections.smart_rules import (
    COLUMNS,
    MAX_RULES,
    RELATIONS,
    RulesRefused,
    build_rule_condition,
    check_rules,
    get_relations,
)
from apps.catalog.models import Collection, Product, SmartCollection
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.admin.staff_request import Context
from apps.core.i18n.messages import translate

PREVIEW_SIZE = 12
PERMISSIONS = ("catalog.view_smartcollection", "catalog.add_smartcollection", "catalog.change_smartcollection")
PARTS = ("column", "relation", "condition")
_PART_LABELS = {
    "column": gettext_noop("field"),
    "relation": gettext_noop("operator"),
    "condition": gettext_noop("value"),
}
# The labels of rule columns and relations.
_LABELS = {
    "title": gettext_noop("title"),
    "type": gettext_noop("type"),
    "vendor": gettext_noop("vendor"),
    "tag": gettext_noop("tag"),
    "variant_title": gettext_noop("variant title"),
    "variant_price": gettext_noop("variant price"),
    "variant_compare_at_price": gettext_noop("variant compare-at price"),
    "variant_weight": gettext_noop("variant weight"),
    "variant_inventory": gettext_noop("variant inventory"),
    "equals": gettext_noop("is equal to"),
    "not_equals": gettext_noop("is not equal to"),
    "greater_than": gettext_noop("is greater than"),
    "less_than": gettext_noop("is less than"),
    "starts_with": gettext_noop("starts with"),
    "ends_with": gettext_noop("ends with"),
    "contains": gettext_noop("contains"),
    "not_contains": gettext_noop("does not contain"),
}


def format_rule_name(name: str) -> str:
    return capfirst(_(_LABELS[name]))


class RulesWidget(TemplateWidget):
    """A widget that shows each rule as two selects and a text input, and ignores empty rows."""

    template_name = "panel/catalog/rules.html"

    def get_context(self, name: str, value: object, attrs: Context | None) -> Context:
        """Add the rule rows to the context, with some empty rows for browsers without JavaScript."""
        context = super().get_context(name, value, attrs)
        rules = value if isinstance(value, list) else []
        blank = dict.fromkeys(PARTS, "")
        context["widget"] |= {
            "rows": [*rules, blank] if rules else [blank, blank],
            "columns": [(column, format_rule_name(column), " ".join(get_relations(column))) for column in COLUMNS],
            "relations": [(relation, format_rule_name(relation)) for relation in RELATIONS],
            "most": MAX_RULES,
        }
        return context

    def value_from_datadict(self, data: Any, files: object, name: str) -> list[dict[str, str]]:
        return parse_rule_rows(data, name)

    def value_omitted_from_data(self, data: Any, files: object, name: str) -> bool:
        return not any(f"{name}-{part}" in data for part in PARTS)


def parse_rule_rows(data: QueryDict, name: str) -> list[dict[str, str]]:
    """Return the rules in the form data, without empty rows."""
    lists = [data.getlist(f"{name}-{part}")[: MAX_RULES + 1] for part in PARTS]
    rows = [dict(zip(PARTS, row, strict=True)) for row in zip(*lists, strict=False)]
    return [row for row in rows if row["condition"].strip() or row["column"]]


class RulesField(forms.Field):
    """Form field for rules, with the same validation as the REST API."""

    widget = RulesWidget

    def clean(self, value: list[dict[str, str]]) -> list[dict[str, str]]:
        try:
            return check_rules(value)
        except RulesRefused as error:
            raise ValidationError([_format_error(field, texts) for field, texts in error.errors.items()]) from None

    def has_changed(self, initial: object, data: object) -> bool:
        return initial != data


def _format_error(field: str, texts: list[str]) -> str:
    """Format an error for staff. ``field`` is an error key, such as ``rules.0.condition``."""
    parts = field.split(".")
    if len(parts) == 1:
        return _("Rules: {refusal}.").format(refusal=translate(texts[0]))
    values = {"number": int(parts[1]) + 1, "refusal": translate(texts[0])}
    if len(parts) == 2:
        return _("Rule {number} {refusal}.").format(**values)
    return _("Rule {number}: {part} {refusal}.").format(**values, part=_(_PART_LABELS[parts[2]]))


class SmartCollectionForm(CollectionForm):
    rules = RulesField(label=gettext_lazy("Rules"))

    class Meta(CollectionForm.Meta):
        model = SmartCollection
        fields = (*CollectionForm.Meta.fields, "disjunctive", "rules")


@admin.register(SmartCollection)
class SmartCollectionAdmin(CollectionAdmin):
    kind = Collection.Kind.SMART
    menu = MenuItem("Products", "rule", 30)
    add_title = gettext_lazy("Add smart collection")
    search_terms = pgettext_lazy("search", "category, categories, group, rule, automatic")
    form = SmartCollectionForm
    intro = gettext_lazy("Smart collections contain every product that matches their rules.")
    empty_text = gettext_lazy(
        "No smart collections yet. Create a smart collection with a rule such as “Tag equals summer”."
    )
    list_filter = ("sort_order", "disjunctive")
    fieldsets = (
        _ABOUT,
        (_PRODUCTS, {"fields": ("rules", "disjunctive", "sort_order")}),
        _PUBLISHING,
        _IMAGE_FIELDSET,
        _STORE,
    )

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        context = {"preview_url": self.url("preview"), **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    @extra_view("preview/", *PERMISSIONS)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        context: Context
        try:
            rules = check_rules(parse_rule_rows(request.GET, "rules"))
        except RulesRefused as error:
            context = {"problems": [_format_error(field, texts) for field, texts in error.errors.items()]}
        else:
            disjunctive = request.GET.get("disjunctive") == "on"
            rows = Product.rows().filter(build_rule_condition(rules, disjunctive=disjunctive))
            products = list(rows.order_by("title", "id").prefetch_related("images")[:PREVIEW_SIZE])
            context = {
                "count": rows.count(),
                "shown": [(product, _thumbnail(product)) for product in products],
                "rest": max(rows.count() - PREVIEW_SIZE, 0),
            }
        return render(request, "panel/catalog/preview.html", context)


def _thumbnail(product: Product) -> SafeString:
    first = next(iter(product.images.all()), None)
    return thumbnail(product.shop_id, first.key if first else "", first.name if first else "")
