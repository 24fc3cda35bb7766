"""Smart collections as staff see them: rules as rows, with a live preview of what they choose."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms.renderers import BaseRenderer
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import URLPattern
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.catalog.admin.collections import _PICTURE, _STORE, CollectionAdmin, CollectionForm
from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.domain.collections.smart_rules import (
    COLUMNS,
    MAX_RULES,
    RELATIONS,
    RulesRefused,
    check_rules,
    condition,
    relations_of,
)
from apps.catalog.models import Collection, Product, SmartCollection
from apps.ground.retelling import retold
from apps.panel.access import require
from apps.panel.menu import Menu
from apps.panel.requests import Context

SHOWN = 12
PERMISSIONS = ("catalog.view_smartcollection", "catalog.add_smartcollection", "catalog.change_smartcollection")
PARTS = ("column", "relation", "condition")


# The interface's names of columns, relations and parts of rules, in words.
_WORDS = (
    gettext_noop("title"),
    gettext_noop("type"),
    gettext_noop("vendor"),
    gettext_noop("tag"),
    gettext_noop("variant title"),
    gettext_noop("variant price"),
    gettext_noop("variant compare at price"),
    gettext_noop("variant weight"),
    gettext_noop("variant inventory"),
    gettext_noop("equals"),
    gettext_noop("not equals"),
    gettext_noop("greater than"),
    gettext_noop("less than"),
    gettext_noop("starts with"),
    gettext_noop("ends with"),
    gettext_noop("contains"),
    gettext_noop("not contains"),
    gettext_noop("column"),
    gettext_noop("relation"),
    gettext_noop("condition"),
)


def words(name: str) -> str:
    """A name of the interface in words: ``variant_price`` is "Variant price"."""
    return capfirst(_(name.replace("_", " ")))


class RulesWidget(forms.Widget):
    """Rules as rows of two choices and a text; an empty row is no rule."""

    template_name = "panel/catalog/rules.html"

    def get_context(self, name: str, value: object, attrs: Context | None) -> Context:
        """The rows, and two empty ones for people without scripts."""
        context = super().get_context(name, value, attrs)
        rules = value if isinstance(value, list) else []
        blank = dict.fromkeys(PARTS, "")
        context["widget"] |= {
            "rows": [*rules, blank] if rules else [blank, blank],
            "columns": [(column, words(column), " ".join(relations_of(column))) for column in COLUMNS],
            "relations": [(relation, words(relation)) for relation in RELATIONS],
            "most": MAX_RULES,
        }
        return context

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """With the panel's templates, not those of the forms."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def value_from_datadict(self, data: Any, files: object, name: str) -> list[dict[str, str]]:
        """The rows that say something."""
        return read_rows(data, name)

    def value_omitted_from_data(self, data: Any, files: object, name: str) -> bool:
        """Rows are there as soon as one part of them is."""
        return not any(f"{name}-{part}" in data for part in PARTS)


def read_rows(data: QueryDict, name: str) -> list[dict[str, str]]:
    """The rules in a form's data; rows without a condition and a column are left out."""
    lists = [data.getlist(f"{name}-{part}")[: MAX_RULES + 1] for part in PARTS]
    rows = [dict(zip(PARTS, row, strict=True)) for row in zip(*lists, strict=False)]
    return [row for row in rows if row["condition"].strip() or row["column"]]


class RulesField(forms.Field):
    """The rules, checked as the interface checks them."""

    widget = RulesWidget

    def clean(self, value: list[dict[str, str]]) -> list[dict[str, str]]:
        """The rules.

        Raises:
            ValidationError: There is none, or one makes no sense; the message says which.
        """
        try:
            return check_rules(value)
        except RulesRefused as refusal:
            raise ValidationError([_said(field, texts) for field, texts in refusal.errors.items()]) from None

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether a rule differs."""
        return initial != data


def _said(field: str, texts: list[str]) -> str:
    """``rules.0.condition`` in words."""
    parts = field.split(".")
    if len(parts) == 1:
        return _("Rules: {refusal}.").format(refusal=retold(texts[0]))
    said = {"number": int(parts[1]) + 1, "refusal": retold(texts[0])}
    if len(parts) == 2:
        return _("Rule {number} {refusal}.").format(**said)
    return _("Rule {number}, {part}, {refusal}.").format(**said, part=_(parts[2]))


class SmartCollectionForm(CollectionForm):
    """A collection with rules."""

    rules = RulesField(label=gettext_lazy("Rules"))

    class Meta(CollectionForm.Meta):
        model = SmartCollection
        fields = (*CollectionForm.Meta.fields, "disjunctive", "rules")


@admin.register(SmartCollection)
class SmartCollectionAdmin(CollectionAdmin):
    """Collections whose products follow from rules."""

    kind = Collection.Kind.SMART
    menu = Menu("Catalog", "rule", 30, words=pgettext_lazy("search", "category, categories, group, rule, automatic"))
    form = SmartCollectionForm
    intro = gettext_lazy("Collections that fill themselves: every product that fits the rules is in.")
    empty_text = gettext_lazy("There are no smart collections. Add one with a rule, such as: tag equals summer.")
    list_filter = ("sort_order", "disjunctive")
    fieldsets = (
        (None, {"fields": ("title", "body_html")}),
        (gettext_lazy("Products"), {"fields": ("rules", "disjunctive", "sort_order")}),
        (gettext_lazy("Visibility"), {"fields": ("published",)}),
        _PICTURE,
        _STORE,
    )

    def get_urls(self) -> list[URLPattern]:
        """The preview besides."""
        return [self.action_url("preview/", self.preview_view, "preview"), *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """With the address of the preview."""
        context = {"preview_url": self.url("preview"), **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """What the rules in the query choose, as a piece of a page."""
        require(request, *PERMISSIONS)
        context: Context
        try:
            rules = check_rules(read_rows(request.GET, "rules"))
        except RulesRefused as refusal:
            context = {"problems": [_said(field, texts) for field, texts in refusal.errors.items()]}
        else:
            disjunctive = request.GET.get("disjunctive") == "on"
            rows = Product.rows().filter(condition(rules, disjunctive=disjunctive))
            shown = list(rows.order_by("title", "id").prefetch_related("images")[:SHOWN])
            context = {
                "count": rows.count(),
                "shown": [(product, _picture(product)) for product in shown],
                "rest": max(rows.count() - SHOWN, 0),
            }
        return render(request, "panel/catalog/preview.html", context)


def _picture(product: Product) -> SafeString:
    first = next(iter(product.images.all()), None)
    return thumbnail(product.shop_id, first.key if first else "", first.name if first else "")
