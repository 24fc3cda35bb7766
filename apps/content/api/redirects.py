from django import forms
from django.core.exceptions import ValidationError
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from apps.content.domain.online_store import redirects
from apps.content.domain.online_store.redirect_paths import InvalidRedirectPath, build_path_key, normalize_path
from apps.content.models import Redirect
from apps.content.models.redirects import MAX_LENGTH
from apps.core.rest.resources.fields import TextField
from apps.core.rest.resources.filters import ApiFilter, ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Errors


class RedirectSerializer(ResourceSerializer[Redirect]):
    # A path may contain a host, which is removed before the length is checked.
    path = TextField(max_length=2 * MAX_LENGTH)
    target = TextField(max_length=MAX_LENGTH)

    def validate_across_fields(self, attrs: Attrs, instance: Redirect | None, errors: Errors) -> None:
        errors.update(redirects.clean_redirect(attrs))


class _PathField(forms.Field):
    def to_python(self, value: str | None) -> str | None:
        """Return the key of the path in any spelling."""
        if value is None:
            return None
        try:
            return build_path_key(normalize_path(value))
        except InvalidRedirectPath as error:
            raise ValidationError(error.args[0]) from None


class PathFilter(ApiFilter):
    field_class = _PathField


class RedirectFilter(ResourceFilter):
    path = PathFilter("path_key")
    target = TextFilter("target")


class RedirectViewSet(ShopViewSet[Redirect]):
    scope = "content"
    serializer_class = RedirectSerializer
    filterset_class = RedirectFilter
    singular = "redirect"
    locks_in_service = True
    version_columns = ("version",)

    def check_permissions(self, request: Request) -> None:
        """Refuse changes by staff without the permission *Manage URL redirects*, who may only change other content."""
        super().check_permissions(request)
        if request.method not in SAFE_METHODS and not self.access.may_redirect:
            raise PermissionDenied

    def perform_create(self, attrs: Attrs) -> Redirect:
        return redirects.create_redirect(**attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: Redirect, attrs: Attrs) -> None:
        redirects.update_redirect(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Redirect) -> None:
        redirects.delete_redirect(instance, actor=self.actor, at=self.at)
