"""The read-only ``users`` resource, for private and custom apps on the premium plan."""

from collections.abc import Mapping
from functools import cached_property

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.rest.exceptions import ApiError, BadRequest
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.requests.authentication import ScopeMissing, check_scope
from apps.core.rest.resources.filters import ResourceFilter
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.models import App, Membership, Shop, User
from apps.core.tenancy.permissions import NAMES
from apps.core.types import Rendered, Schema

SCOPE = "read_users"
_TEXT: Schema = {"type": "string"}
_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
_BOOLEAN: Schema = {"type": "boolean"}
_USER: Schema = {
    "id": {"type": "integer"},
    "first_name": _TEXT,
    "email": _TEXT,
    "url": _TEXT,
    "im": _NULLABLE_TEXT,
    "screen_name": _NULLABLE_TEXT,
    "phone": _NULLABLE_TEXT,
    "last_name": _TEXT,
    "account_owner": _BOOLEAN,
    "receive_announcements": {"type": "integer"},
    "bio": _NULLABLE_TEXT,
    "permissions": {"type": "array", "items": _TEXT},
    "locale": _TEXT,
    "user_type": _TEXT,
    "admin_graphql_api_id": _TEXT,
    "tfa_enabled?": _BOOLEAN,
}
_USER_SCHEMA: Schema = {"type": "object", "required": [*_USER], "properties": _USER}
_USER_RESPONSE: Schema = {"type": "object", "required": ["user"], "properties": {"user": _USER_SCHEMA}}


class _NoFilter(ResourceFilter):
    """A filter set without filters, because the list of users only supports pagination."""

    ids = since_id = created_at_min = created_at_max = updated_at_min = updated_at_max = None  # type: ignore[assignment]


class UserViewSet(ShopViewSet[Membership]):
    """``/users``. IDs identify users and not memberships, so a user has the same ID in all shops."""

    model = Membership
    filterset_class = _NoFilter
    singular = "user"
    order = ("user_id",)
    responses = {
        "list": {
            "type": "object",
            "required": ["users"],
            "properties": {"users": {"type": "array", "items": _USER_SCHEMA}},
        },
        "retrieve": _USER_RESPONSE,
        "current": _USER_RESPONSE,
    }

    def get_scopes(self, method: str) -> tuple[str, ...]:
        return (SCOPE,)

    def check_permissions(self, request: Request) -> None:
        if SCOPE not in self.access.app_scopes:
            raise ScopeMissing(SCOPE)
        if self.access.installation.app.distribution == App.Distribution.PUBLIC:
            raise ApiError("[API] Users are shown to private and custom apps only.", status=403)
        if self.shop.plan != Shop.Plan.PREMIUM:
            raise ApiError("[API] Users are shown on the premium plan only.", status=403)
        # A staff member does not need a permission to read their own user.
        if self.action != "current":
            check_scope(self.access, (SCOPE,))

    @cached_property
    def requested_fields(self) -> frozenset[str] | None:
        requested = {word.strip() for word in self.query.get("fields", "").split(",")} - {""}
        return frozenset(requested & _USER.keys()) if requested else None

    def get_queryset(self) -> QuerySet[Membership]:
        factors = Authenticator.objects.filter(user_id=OuterRef("user_id"))
        guarded = Exists(factors.exclude(type=Authenticator.Type.RECOVERY_CODES))
        return Membership.objects.select_related("user").annotate(is_guarded=guarded)

    def list(self, request: Request, **_: int) -> HttpResponse:
        """Return a page of the shop's users."""
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        if "order" in page.filters:
            raise BadRequest({"order": "order cannot be passed"})
        rows = list(keyset_pagination.filter_by_cursor(self.get_queryset(), self.order, page.cursor)[: page.limit + 1])
        has_more = len(rows) > page.limit
        rows = rows[: page.limit]
        if page.cursor is not None and page.cursor.direction == "previous":
            rows.reverse()
        response = self.json_response({"users": [self._build_user(row) for row in rows]})
        if links := self._build_page_tokens([(row.user_id,) for row in rows], page, self.order, has_more):
            fields = self.query.get("fields")
            response["Link"] = keyset_pagination.build_link_header(
                self.request.path, links, limit=page.limit, fields=fields
            )
        return response

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        """Return a user of the shop."""
        row = self.get_queryset().filter(user_id=kwargs["id"]).first()
        if row is None:
            raise Http404
        return self.json_response({"user": self._build_user(row)})

    def current(self, request: Request) -> HttpResponse:
        """Return the user that the token acts as, or the account owner if the token acts as the app itself."""
        user_id = self.access.user_id
        conditions: Mapping[str, object] = {"account_owner": True} if user_id is None else {"user_id": user_id}
        row = self.get_queryset().filter(**conditions).order_by("id").first()
        if row is not None:
            return self.json_response({"user": self._build_user(row)})
        # Operators need no membership, so look for an operator with this ID.
        operator = User.objects.filter(pk=user_id or 0, is_superuser=True).first()
        if operator is None:
            raise Http404
        return self.json_response(
            {"user": self._select_fields(build_user(operator, None, is_guarded=is_mfa_enabled(operator)))}
        )

    def _build_user(self, row: Membership) -> Rendered:
        return self._select_fields(build_user(row.user, row, is_guarded=row.is_guarded))  # type: ignore[attr-defined]

    def _select_fields(self, user: Rendered) -> Rendered:
        names = self.requested_fields
        return user if names is None else {name: value for name, value in user.items() if name in names}


def build_user(user: User, membership: Membership | None, *, is_guarded: bool) -> Rendered:
    """Build the JSON of a staff member. ``is_guarded`` is True if the user has a second factor.

    ``permissions`` only lists permissions with full access, because the API has no levels and apps would treat a
    view-only permission as full access.
    """
    owns = membership is not None and membership.account_owner
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
        "permissions": sorted(NAMES if membership is None or owns else membership.permissions),
        "locale": user.locale,
        "user_type": "regular",
        "admin_graphql_api_id": f"gid://{settings.BRAND}/User/{user.pk}",
        "tfa_enabled?": is_guarded,
    }
