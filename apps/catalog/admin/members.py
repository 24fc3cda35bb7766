"""The page of a collection's products: found and added, put in order by mouse or keyboard, taken out."""

from typing import TypeAlias, TypedDict

from django.contrib import messages
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django_stubs_ext import WithAnnotations

from apps.catalog.admin.images import moved
from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.collects import add_collect, remove_collect
from apps.catalog.domain.collections.membership import ORDERS, products_of, with_order
from apps.catalog.models import Collect, Collection, Product, ProductImage
from apps.ground.errors import DomainError
from apps.ground.ranks import ordered
from apps.panel.access import require
from apps.panel.requests import By
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.wording import nothing_changed

MANUAL = Collection.SortOrder.MANUAL
MOST_SHOWN, MOST_FOUND, LONGEST = 250, 10, 200


class _MainImage(TypedDict):
    image_key: str | None
    image_name: str | None


Pictured: TypeAlias = "WithAnnotations[Product, _MainImage]"


class MembersPage(ShopOwnedAdmin[Collection]):
    """Gives the screens of collections their page of products."""

    def members_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the products, or do what a form asks for."""
        collection = self.row_or_404(request, object_id)
        change = f"catalog.change_{self.opts.model_name}"
        view = f"catalog.view_{self.opts.model_name}"
        require(request, *([change] if request.method == "POST" else [view, change]))
        if request.method == "POST":
            try:
                with transaction.atomic():
                    said = _act(collection, request, self.by(request))
                self.message_user(request, said, messages.SUCCESS)
            except DomainError as refusal:
                self.message_user(request, nothing_changed(refusal), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        term = request.GET.get("q", "").strip().replace("\x00", "")[:LONGEST]
        members = products_of(collection)
        order = ORDERS[collection.sort_order]
        shown = _with_pictures(ordered(with_order(members, collection, order), order))[:MOST_SHOWN]
        context = {
            "original": collection,
            "editable": request.user.has_perm(change),
            "by_hand": collection.sort_order == MANUAL,
            "term": term,
            "found": _found(collection, term) if term and not collection.is_smart else [],
            "products": [(row, _picture(row)) for row in shown],
            "count": members.count(),
            "most": MOST_SHOWN,
            "back": self.url("change", collection.pk),
        }
        return self.page(
            request, "panel/catalog/members.html", _("Products of {name}").format(name=collection), **context
        )


def _with_pictures(rows: QuerySet[Product]) -> QuerySet[Pictured]:
    first = ProductImage.objects.filter(product=OuterRef("pk")).order_by("position", "id")
    return rows.annotate(image_key=Subquery(first.values("key")[:1]), image_name=Subquery(first.values("name")[:1]))


def _picture(row: Pictured) -> SafeString:
    return thumbnail(row.shop_id, row.image_key or "", row.image_name or "")


def _found(collection: Collection, term: str) -> list[tuple[Pictured, SafeString]]:
    """Products to add: those with the term in their title that are not in yet."""
    rows = Product.rows().filter(title_key__contains=term).exclude(pk__in=products_of(collection).values("pk"))
    return [(row, _picture(row)) for row in _with_pictures(rows.order_by("title", "id"))[:MOST_FOUND]]


def _act(collection: Collection, request: HttpRequest, by: By) -> str:
    """Add a product, or save order and removals."""
    add = request.POST.get("add", "")
    if add.isdecimal() and not collection.is_smart:
        product = Product.rows().filter(pk=add).first()
        if product is None or products_of(collection).filter(pk=product.pk).exists():
            return _("Nothing was to be added.")
        add_collect(collection_id=collection.pk, product_id=product.pk, position=None, **by)
        return _("{name} is added.").format(name=product)
    gone = [int(text) for text in request.POST.getlist("remove") if text.isdecimal()]
    if not collection.is_smart:
        for collect in Collect.rows().filter(collection=collection, product_id__in=gone).order_by("pk"):
            remove_collect(collect, **by)
    members = set(products_of(collection).values_list("pk", flat=True))
    named = dict.fromkeys(int(text) for text in request.POST.getlist("product") if text.isdecimal())
    ordered = moved([pk for pk in named if pk in members], request.POST.get("move", ""))
    if ordered and collection.sort_order == MANUAL:
        lifecycle.set_order(collection, product_ids=ordered, **by)
    return _("The products are saved.")
