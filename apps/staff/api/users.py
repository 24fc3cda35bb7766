"""Who works in a shop, read only; for apps of a shop's own, on the premium plan.

Rule: spec part A, User; decisions, Access.
"""

from collections.abc import Mapping
from functools import cached_property

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.errors import ApiError
from apps.api.requests.access import ScopeMissing, check_scope
from apps.api.resources.filters import ResourceFilter
from apps.api.rows import paging
from apps.api.shapes import Schema, Shown
from apps.api.viewsets import ShopViewSet
from apps.shops.models import App, Shop
from apps.staff.domain.permissions import NAMES
from apps.staff.models import Membership, User

SCOPE = "read_users"
_TEXT: Schema = {"type": "string"}
_NOTHING: Schema = {"type": ["string", "null"]}
_TRUTH: Schema = {"type": "boolean"}
_USER: Schema = {
    "id": {"type": "integer"},
    "first_name": _TEXT,
    "email": _TEXT,
    "url": _TEXT,
    "im": _NOTHING,
    "screen_name": _NOTHING,
    "phone": _NOTHING,
    "last_name": _TEXT,
    "account_owner": _TRUTH,
    "receive_announcements": {"type": "integer"},
    "bio": _NOTHING,
    "permissions": {"type": "array", "items": _TEXT},
    "locale": _TEXT,
    "user_type": _TEXT,
    "admin_graphql_api_id": _TEXT,
    "tfa_enabled?": _TRUTH,
}
_SHOWN: Schema = {"type": "object", "required": [*_USER], "properties": _USER}
_ONE: Schema = {"type": "object", "required": ["user"], "properties": {"user": _SHOWN}}


class _NoFilter(ResourceFilter):
    """The list of the staff is only paged."""

    ids = since_id = created_at_min = created_at_max = updated_at_min = updated_at_max = None  # type: ignore[assignment]


class UserViewSet(ShopViewSet[Membership]):
    """``/users``: a person is known by the id of the user, which is the same in every shop that they work in."""

    model = Membership
    filterset_class = _NoFilter
    singular = "user"
    plural = "users"
    order = ("user_id",)
    answers = {
        "list": {"type": "object", "required": ["users"], "properties": {"users": {"type": "array", "items": _SHOWN}}},
        "retrieve": _ONE,
        "current": _ONE,
    }

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """The app's scope."""
        return (SCOPE,)

    def check_permissions(self, request: Request) -> None:
        """The app holds the scope, and is one that may know who works here."""
        if SCOPE not in self.access.app_granted:
            raise ScopeMissing(SCOPE)
        if self.access.installation.app.distribution == App.Distribution.PUBLIC:
            raise ApiError("[API] Users are shown to private and custom apps only.", status=403)
        if self.shop.plan != Shop.Plan.PREMIUM:
            raise ApiError("[API] Users are shown on the premium plan only.", status=403)
        # Who they are themselves may know also who does not manage the staff.
        if self.action != "current":
            check_scope(self.access, (SCOPE,))

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The fields asked for, as far as there are such; None for all."""
        asked = {word.strip() for word in self.query.get("fields", "").split(",")} - {""}
        return frozenset(asked & _USER.keys()) if asked else None

    def get_queryset(self) -> QuerySet[Membership]:
        """The places in this shop, with who has them and whether a second factor guards them."""
        factors = Authenticator.objects.filter(user_id=OuterRef("user_id"))
        guarded = Exists(factors.exclude(type=Authenticator.Type.RECOVERY_CODES))
        return Membership.objects.select_related("user").annotate(is_guarded=guarded)

    def list(self, request: Request, **_: int) -> HttpResponse:
        """A page of those who work here."""
        page = paging.read_page(self.query, shop_id=self.shop.pk, route=self.route)
        rows = list(paging.beside(self.get_queryset(), self.order, page.cursor)[: page.limit + 1])
        has_more = len(rows) > page.limit
        rows = rows[: page.limit]
        if page.cursor is not None and page.cursor.direction == "previous":
            rows.reverse()
        response = self.json({"users": [self._shown(row) for row in rows]})
        if links := self._links([(row.user_id,) for row in rows], page, self.order, has_more):
            asked = self.query.get("fields")
            response["Link"] = paging.link_header(self.request.path, links, limit=page.limit, fields=asked)
        return response

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        """One of those who work here."""
        row = self.get_queryset().filter(user_id=kwargs["id"]).first()
        if row is None:
            raise Http404
        return self.json({"user": self._shown(row)})

    def current(self, request: Request) -> HttpResponse:
        """Read whom the token acts as; for an app's own token, the account owner."""
        user_id = self.access.user_id
        wanted: Mapping[str, object] = {"account_owner": True} if user_id is None else {"user_id": user_id}
        row = self.get_queryset().filter(**wanted).order_by("id").first()
        if row is not None:
            return self.json({"user": self._shown(row)})
        # The operator works in every shop without a place in it.
        operator = User.objects.filter(pk=user_id or 0, is_superuser=True).first()
        if operator is None:
            raise Http404
        return self.json({"user": self._narrowed(shown(operator, None, is_guarded=is_mfa_enabled(operator)))})

    def _shown(self, row: Membership) -> Shown:
        return self._narrowed(shown(row.user, row, is_guarded=row.is_guarded))  # type: ignore[attr-defined]

    def _narrowed(self, user: Shown) -> Shown:
        names = self.fields
        return user if names is None else {name: value for name, value in user.items() if name in names}


def shown(user: User, place: Membership | None, *, is_guarded: bool) -> Shown:
    """A staff member as the interface shows them; ``is_guarded`` by a second factor.

    The wire knows no levels: ``permissions`` are the names held fully, for an app would take any other for full.
    """
    owns = place is not None and place.account_owner
    return {
        "id": user.pk,
        "first_name": user.first_name,
        "email": user.email,
        "url": user.url,
        "im": None,
        "screen_name": None,
        "phone": user.phone or None,
        "last_name": user.last_name,
        "account_owner": owns,
        "receive_announcements": 0,
        "bio": user.bio or None,
        "permissions": sorted(NAMES if place is None or owns else place.permissions),
        "locale": user.locale,
        "user_type": "regular",
        "admin_graphql_api_id": f"gid://{settings.BRAND}/User/{user.pk}",
        "tfa_enabled?": is_guarded,
    }
