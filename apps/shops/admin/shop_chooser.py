"""Views that do not belong to a shop: the redirect to the user's shop, the shop chooser and the form for a new shop."""

from typing import cast
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.decorators import staff_required, staff_with_required_factor
from apps.core.admin.forms.error_display import add_domain_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.reverse import get_panel_prefix
from apps.core.exceptions import DomainError
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.staff_access import get_accessible_shops
from apps.shops.domain import shop_creation

PER_PAGE = 30


@staff_required
def redirect_to_shop(request: HttpRequest) -> HttpResponse:
    """Redirect to the user's only or last shop, or else to the shop chooser."""
    user = cast("User", request.user)
    shops = list(get_accessible_shops(user)[:2])
    if len(shops) == 1:
        return redirect(get_panel_prefix(shops[0]))
    last = get_accessible_shops(user).filter(pk=user.last_shop_id).first() if user.last_shop_id else None
    return redirect(get_panel_prefix(last)) if last else redirect("shops")


@staff_required
def choose_shop(request: HttpRequest) -> HttpResponse:
    user = cast("User", request.user)
    shops = get_accessible_shops(user)
    term = request.GET.get("q", "").strip().replace("\x00", "")[:100]
    if term:
        shops = shops.filter(Q(name__icontains=term) | Q(domain__icontains=term))
    page = Paginator(shops, PER_PAGE).get_page(request.GET.get("page"))
    searchable = bool(term) or page.paginator.num_pages > 1
    return render(request, "global/shops.html", {"page": page, "term": term, "searchable": searchable})


class NewShopForm(forms.ModelForm[Shop]):
    class Meta:
        model = Shop
        fields = ("name", "domain", "email", "currency", "timezone", "country_code", "plan")
        help_texts = {
            "domain": gettext_lazy("The domain of the online store, e.g. shop.example."),
            "email": gettext_lazy("The owner's email address."),
        }

    timezone = forms.ChoiceField(
        choices=[(name, name.replace("_", " ")) for name in sorted(available_timezones())],
        initial="UTC",
        label=gettext_lazy("Time zone"),
    )
    currency = forms.RegexField(
        r"\A[A-Z]{3}\Z",
        initial="USD",
        help_text=gettext_lazy("Three-letter code, e.g. EUR."),
        label=gettext_lazy("Currency"),
    )
    country_code = forms.RegexField(
        r"\A[A-Z]{2}\Z",
        label=gettext_lazy("Country"),
        initial="US",
        help_text=gettext_lazy("Two-letter code, e.g. DE."),
    )

    def clean_domain(self) -> str:
        return str(self.cleaned_data["domain"]).lower()


@staff_with_required_factor
def add_shop(request: HttpRequest) -> HttpResponse:
    user = cast("User", request.user)
    if not user.is_superuser:
        raise PermissionDenied(_("Only operators can create shops."))
    form = NewShopForm(get_post_data(request))
    if request.method == "POST" and form.is_valid():
        shop = _create_shop(form, user)
        if shop is not None:
            messages.success(request, _("{name} was created.").format(name=shop.name))
            return redirect(get_panel_prefix(shop))
    return render(request, "global/new_shop.html", {"form": form})


def _create_shop(form: NewShopForm, user: User) -> Shop | None:
    try:
        return shop_creation.create_shop(actor=get_staff_actor(user), at=timezone.now(), **form.cleaned_data)
    except DomainError as domain_error:
        add_domain_errors(form, domain_error)
    except ValidationError as error:
        form.add_error(None, error.messages)
    return None
