"""Forms that duplicate products and collections."""

from typing import Unpack

from django import forms
from django.utils.translation import gettext_lazy

from apps.catalog.domain.duplication.collections import CollectionCopy, duplicate_collection
from apps.catalog.domain.duplication.products import ProductCopy, duplicate_product
from apps.catalog.models import Collection, Product
from apps.core.admin.model_admin.duplication import (
    DuplicateForm,
    HideableDuplicateForm,
    create_choice,
    create_metafields_choice,
)
from apps.core.admin.staff_request import EventKwargs

Status = Product.Status


class ProductDuplicateForm(DuplicateForm):
    status = forms.ChoiceField(
        label=gettext_lazy("Status"),
        choices=[(Status.DRAFT, Status.DRAFT.label), (Status.ACTIVE, Status.ACTIVE.label)],
        help_text=gettext_lazy("The variants of the copy have no inventory yet."),
    )
    images = create_choice(gettext_lazy("Images with their alternative texts"))
    collections = create_choice(
        gettext_lazy("Collections"),
        help_text=gettext_lazy("Smart collections contain the copy if it matches their rules."),
    )
    metafields = create_metafields_choice()
    codes = create_choice(
        gettext_lazy("SKUs and barcodes"),
        initial=False,
        help_text=gettext_lazy("With the same code, a scanner can't tell the products apart."),
    )

    def duplicate(self, row: Product, **by: Unpack[EventKwargs]) -> Product:
        return duplicate_product(row, ProductCopy(**self.cleaned_data), **by)


class SmartDuplicateForm(HideableDuplicateForm):
    image = create_choice(gettext_lazy("Image with its alternative text"))
    metafields = create_metafields_choice()

    def duplicate(self, row: Collection, **by: Unpack[EventKwargs]) -> Collection:
        return duplicate_collection(row, CollectionCopy(**self.parts, visible=self.is_visible), **by)


class CustomDuplicateForm(SmartDuplicateForm):
    products = create_choice(gettext_lazy("Products"))
    field_order = ("title", "visibility", "products")
