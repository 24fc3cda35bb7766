"""The way into the panel: the entrance, the shop chooser, and the operator's page that opens a shop."""

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

from apps.ground.errors import DomainError
from apps.panel.addresses import panel_prefix
from apps.panel.doors import full_staff_only, staff_only
from apps.panel.once import posted
from apps.shops.domain import opening
from apps.shops.models import Shop
from apps.staff.domain.access import shops_of
from apps.staff.domain.actors import actor_of
from apps.staff.models import User

PER_PAGE = 30


@staff_only
def entrance(request: HttpRequest) -> HttpResponse:
    """On to the only shop or the last one, else to the chooser."""
    user = cast("User", request.user)
    shops = list(shops_of(user)[:2])
    if len(shops) == 1:
        return redirect(panel_prefix(shops[0]))
    last = shops_of(user).filter(pk=user.last_shop_id).first() if user.last_shop_id else None
    return redirect(panel_prefix(last)) if last else redirect("shops")


@staff_only
def chooser(request: HttpRequest) -> HttpResponse:
    """The shops that one may enter."""
    user = cast("User", request.user)
    shops = shops_of(user)
    term = request.GET.get("q", "").strip().replace("\x00", "")[:100]
    if term:
        shops = shops.filter(Q(name__icontains=term) | Q(domain__icontains=term))
    page = Paginator(shops, PER_PAGE).get_page(request.GET.get("page"))
    searchable = bool(term) or page.paginator.num_pages > 1
    return render(request, "outside/shops.html", {"page": page, "term": term, "searchable": searchable})


class NewShopForm(forms.ModelForm[Shop]):
    """What a shop cannot begin without."""

    class Meta:
        model = Shop
        fields = ("name", "domain", "email", "currency", "timezone", "country_code", "plan")
        help_texts = {
            "domain": gettext_lazy("Where customers find it, e.g. shop.example."),
            "email": gettext_lazy("Where the owner is reached."),
        }

    timezone = forms.ChoiceField(
        choices=[(name, name.replace("_", " ")) for name in sorted(available_timezones())],
        initial="UTC",
        label=gettext_lazy("Timezone"),
    )
    currency = forms.RegexField(
        r"\A[A-Z]{3}\Z",
        initial="USD",
        help_text=gettext_lazy("Three letters, e.g. EUR."),
        label=gettext_lazy("Currency"),
    )
    country_code = forms.RegexField(
        r"\A[A-Z]{2}\Z", label=gettext_lazy("Country"), initial="US", help_text=gettext_lazy("Two letters, e.g. DE.")
    )

    def clean_domain(self) -> str:
        """Domains are lower case."""
        return str(self.cleaned_data["domain"]).lower()


@full_staff_only
def new_shop(request: HttpRequest) -> HttpResponse:
    """Open a shop; for operators."""
    user = cast("User", request.user)
    if not user.is_superuser:
        raise PermissionDenied(_("Shops are opened by the operator."))
    form = NewShopForm(posted(request))
    if request.method == "POST" and form.is_valid():
        shop = _open(form, user)
        if shop is not None:
            messages.success(request, _("{name} is open.").format(name=shop.name))
            return redirect(panel_prefix(shop))
    return render(request, "outside/new_shop.html", {"form": form})


def _open(form: NewShopForm, user: User) -> Shop | None:
    try:
        return opening.create_shop(actor=actor_of(user), at=timezone.now(), **form.cleaned_data)
    except DomainError as refusal:
        for field, texts in refusal.errors.items():
            form.add_error(field if field in form.fields else None, texts)
    except ValidationError as error:
        form.add_error(None, error.messages)
    return None
