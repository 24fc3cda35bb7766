"""Panel page for a collection's products: search, add, reorder and remove them."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.catalog.admin.images import ProductWithImage, annotate_main_image, move_id, thumbnail
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.collects import add_collect, remove_collect
from apps.catalog.domain.collections.membership import ORDERS, annotate_sort_values, get_collection_products
from apps.catalog.models import Collect, Collection, Product
from apps.core.admin.forms.error_display import format_unchanged_error
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import EventKwargs
from apps.core.db.sort_tables import order_rows
from apps.core.exceptions import DomainError

MANUAL = Collection.SortOrder.MANUAL
MAX_LISTED_PRODUCTS, MAX_SEARCH_RESULTS, MAX_TERM_LENGTH = 250, 10, 200


class CollectionProductsPage(ShopOwnedAdmin[Collection]):
    @row_view("products/")
    def products_view(self, request: HttpRequest, collection: Collection) -> HttpResponse:
        change = f"catalog.change_{self.opts.model_name}"
        view = f"catalog.view_{self.opts.model_name}"
        require_permission(request, *([change] if request.method == "POST" else [view, change]))
        if request.method == "POST":
            try:
                with transaction.atomic():
                    message = _apply_form(collection, request, self.event_kwargs(request))
                self.message_user(request, message, messages.SUCCESS)
            except DomainError as error:
                self.message_user(request, format_unchanged_error(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        term = request.GET.get("q", "").strip().replace("\x00", "")[:MAX_TERM_LENGTH]
        members = get_collection_products(collection)
        order = ORDERS[collection.sort_order]
        products = annotate_main_image(order_rows(annotate_sort_values(members, collection, order), order))
        context = {
            "original": collection,
            "editable": request.user.has_perm(change),
            "by_hand": collection.sort_order == MANUAL,
            "term": term,
            "found": _search_products(collection, term) if term and not collection.is_smart else [],
            "products": [(row, _thumbnail(row)) for row in products[:MAX_LISTED_PRODUCTS]],
            "count": members.count(),
            "most": MAX_LISTED_PRODUCTS,
            "back": self.url("change", collection.pk),
        }
        title = _("Products in {name}").format(name=collection)
        return self.page(request, "panel/catalog/collection_products.html", title, **context)


def _thumbnail(row: ProductWithImage) -> SafeString:
    return thumbnail(row.shop_id, row.image_key or "", row.image_name or "")


def _search_products(collection: Collection, term: str) -> list[tuple[ProductWithImage, SafeString]]:
    """Return the products that have the term in the title and are not in the collection yet."""
    present = get_collection_products(collection).values("pk")
    rows = Product.rows().filter(title_key__contains=term).exclude(pk__in=present).order_by("title", "id")
    return [(row, _thumbnail(row)) for row in annotate_main_image(rows)[:MAX_SEARCH_RESULTS]]


def _apply_form(collection: Collection, request: HttpRequest, by: EventKwargs) -> str:
    """Add a product, or save the new order and the removals. Return the success message."""
    add = request.POST.get("add", "")
    if add.isdecimal() and not collection.is_smart:
        product = Product.rows().filter(pk=add).first()
        if product is None or get_collection_products(collection).filter(pk=product.pk).exists():
            return _("The product was not added because it is already in the collection or no longer exists.")
        add_collect(collection_id=collection.pk, product_id=product.pk, position=None, **by)
        return _("{name} added.").format(name=product)
    removed_ids = [int(text) for text in request.POST.getlist("remove") if text.isdecimal()]
    if not collection.is_smart:
        for collect in Collect.rows().filter(collection=collection, product_id__in=removed_ids).order_by("pk"):
            remove_collect(collect, **by)
    members = set(get_collection_products(collection).values_list("pk", flat=True))
    submitted_ids = dict.fromkeys(int(text) for text in request.POST.getlist("product") if text.isdecimal())
    ordered = move_id([pk for pk in submitted_ids if pk in members], request.POST.get("move", ""))
    if ordered and collection.sort_order == MANUAL:
        lifecycle.set_collection_order(collection, product_ids=ordered, **by)
    return _("Products saved.")
