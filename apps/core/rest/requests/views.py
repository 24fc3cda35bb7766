"""The base view for the API: authentication, version, rate limit and shop scope."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import orjson
from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from apps.core.db.transient_errors import is_rolled_back
from apps.core.events.context import event_context
from apps.core.i18n.error_messages import LIMIT_EXCEEDED
from apps.core.rest.exceptions import CONTENT_TYPE, ApiError, exception_handler, get_reason_phrase
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests import idempotency, read_your_writes, throttling
from apps.core.rest.requests.authentication import SAFE_METHODS, Access, authenticate_token, check_scope
from apps.core.rest.requests.deprecated_calls import record_deprecated_call
from apps.core.rest.requests.deprecations import Deprecation
from apps.core.rest.requests.parsers import (
    accepts_json,
    check_content_length,
    parse_json_body,
    parse_query_string,
    unwrap_resource,
)
from apps.core.rest.resources.serializers import Resource
from apps.core.rest.versions import ALL_VERSIONS, UnknownVersion, VersionRange, get_latest_version, resolve_version
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import RequestData, Schema

# Response kinds: the resource under its singular name, the bare resource, or a list of resources under the plural name.
ONE, BARE, MANY = "one", "bare", "many"

# The singular names of all resources. A body with a second resource name is rejected; unknown keys are ignored.
SINGULAR_NAMES: set[str] = set()

_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")


class ApiView(ViewSet):
    """The base class for API views: authenticated, versioned, limited to one shop, with JSON responses.

    Attributes:
        singular, plural: The resource's names in bodies; ``plural`` is also the prefix of its topics. By default,
            ``plural`` is ``singular`` with an "s".
        scope: The access scope without ``read_`` or ``write_``, e.g. ``script_tags``, or None if any token may call the
            view.
        version_ranges: The versions that have an action, keyed by action name. Other actions are in all versions.
        takes_uploads: True if bodies may contain Base64 files (limit 30 MiB instead of 1 MiB).
        request_bodies: The request bodies of actions that accept something other than the resource, keyed by action
            name. Each value is a JSON schema, or the fields of a flat body.
        responses: The responses that do not follow from the action's name, keyed by action name: ``ONE``, ``BARE``,
            ``MANY`` or a JSON schema.
        extra_response_properties: The JSON schemas of additional response properties, keyed by action name, then by
            property name.
        query_parameters: The names of the query parameters of custom actions, keyed by action name.
        success_statuses: The success statuses that differ from the default (201 for a create, otherwise 200), keyed by
            action name.
    """

    serializer_class: ClassVar[Resource]
    singular: ClassVar[str]
    plural: ClassVar[str]
    scope: ClassVar[str | None] = None
    version_ranges: ClassVar[Mapping[str, VersionRange]] = {}
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    takes_uploads: ClassVar[bool] = False
    request_bodies: ClassVar[Mapping[str, Schema]] = {}
    responses: ClassVar[Mapping[str, Schema | str]] = {}
    extra_response_properties: ClassVar[Mapping[str, Mapping[str, Schema]]] = {}
    query_parameters: ClassVar[Mapping[str, Sequence[str]]] = {}
    success_statuses: ClassVar[Mapping[str, int]] = {}
    http_method_names = ("get", "post", "put", "delete", "head")

    access: Access
    version: str

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Return the scopes that allow a method. One of the scopes is enough; an empty result allows every token."""
        if self.scope is None:
            return ()
        return (f"{'read' if method in SAFE_METHODS else 'write'}_{self.scope}",)

    def check_permissions(self, request: Request) -> None:
        check_scope(self.access, self.get_scopes(request.method or "GET"))

    def initialize_request(self, request: HttpRequest, *args: object, **kwargs: object) -> Request:
        """Create DRF's request without parsers and authenticators, because this class does their work."""
        self.action = self.action_map.get((request.method or "").lower(), "")
        return Request(request)

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request)
        self.at = timezone.now()
        self.version = get_latest_version()
        self.level = throttling.RateLimitState(0, settings.RATE_LIMIT_BURST, admitted=True)
        try:
            response = self._handle_request(request)
        except Exception as error:
            response = exception_handler(error)
            # The middleware retries a request with ``undone``. Do not retry inside an outer transaction, which is
            # already broken.
            request.undone = is_rolled_back(error) and not connection.in_atomic_block  # type: ignore[attr-defined]
        if request.method not in SAFE_METHODS and hasattr(self, "access"):
            read_your_writes.record_write(self.access)
        return self._add_headers(response)

    def _handle_request(self, request: HttpRequest) -> HttpResponse:
        self.access = authenticate_token(request)
        self.request.auth = self.access
        self.level = self.count_call()
        if not self.level.admitted:
            raise ApiError(LIMIT_EXCEEDED, status=429, headers={"Retry-After": str(throttling.RETRY_AFTER)})
        self._resolve_version()
        method = (request.method or "").lower()
        if method not in self.http_method_names or not hasattr(self, method):
            raise ApiError(get_reason_phrase(405), status=405, headers={"Allow": ", ".join(self.allowed_methods)})
        self.check_permissions(self.request)
        if not accepts_json(request):
            raise ApiError(get_reason_phrase(406), status=406)
        with (
            shop_scope(self.shop),
            event_context(
                request_id=getattr(request, "request_id", ""), address=request.META.get("REMOTE_ADDR") or None
            ),
        ):
            handler: Callable[..., HttpResponse] = getattr(self, method)
            if request.method in SAFE_METHODS:
                return read_your_writes.read_from_replica(self.access, lambda: self._load_and_handle(handler))
            if method == "post" and idempotency.IDEMPOTENCY_HEADER in request.META:
                check_content_length(request, uploads=self.takes_uploads)
                return idempotency.replay_or_run(
                    request,
                    self.access,
                    self._load_and_prepare,
                    lambda: handler(self.request, **self.kwargs),
                    at=self.at,
                    keep=self.redact_for_replay,
                    restore=self.restore_for_replay,
                )
            self.load_parents()
            if method in {"post", "put"}:
                self.prepare_write()
            return handler(self.request, **self.kwargs)

    def _load_and_handle(self, handler: Callable[..., HttpResponse]) -> HttpResponse:
        self.load_parents()
        return handler(self.request, **self.kwargs)

    def count_call(self) -> throttling.RateLimitState:
        """Count the call against the rate limit; views with other limits override this method."""
        return throttling.count_call(app_id=self.access.installation.app_id, shop=self.shop)

    def _load_and_prepare(self) -> None:
        """Load the parents and prepare the write. Replays skip this step, because the parent may no longer exist."""
        self.load_parents()
        self.prepare_write()

    def _resolve_version(self) -> None:
        try:
            self.version = resolve_version(self.kwargs.pop("version", get_latest_version()))
        except UnknownVersion:
            raise Http404 from None
        if not self.version_ranges.get(self.action or "", ALL_VERSIONS).includes(self.version):
            raise Http404

    def _add_headers(self, response: HttpResponse) -> HttpResponse:
        brand = settings.BRAND.capitalize()
        response[f"X-{brand}-API-Version"] = self.version
        response[f"X-{brand}-Shop-Api-Call-Limit"] = self.level.header
        note = self.deprecated.get(getattr(self, "action", None) or "")
        if note is not None and note.applies_to(self.version):
            response[f"X-{brand}-API-Deprecated-Reason"] = note.url
            if hasattr(self, "access"):
                record_deprecated_call(self.access, note, self._describe_route(), self.version, at=self.at)
        return response

    def _describe_route(self) -> str:
        """Return the method and the path without ids, such as ``GET products/{product_id}/images.json``."""
        match = self.request._request.resolver_match
        path = match.route.partition("<str:version>/")[2] if match else self.request.path
        return f"{self.request.method} " + _ARGUMENT.sub(r"{\1}", path)

    def load_parents(self) -> None:
        """Load the objects in the path, such as a parent; raise ``Http404`` if the shop does not have them."""

    def redact_for_replay(self, content: bytes) -> bytes:
        """Return the response body to store for replays; views override this method to remove secrets."""
        return content

    def restore_for_replay(self, content: bytes) -> bytes:
        """Return the response body of a replay, built from the stored body."""
        return content

    def prepare_write(self) -> None:
        """Do the slow part of a write, such as downloads, before the transaction opens."""

    @property
    def shop(self) -> Shop:
        return self.access.shop

    @property
    def actor(self) -> str:
        """Return the caller as the actor for the audit log."""
        return self.access.actor

    @cached_property
    def query(self) -> dict[str, str]:
        return parse_query_string(self.request._request)

    @cached_property
    def body(self) -> object:
        return parse_json_body(self.request._request, uploads=self.takes_uploads)

    def unwrap_body(self, singular: str) -> RequestData:
        return unwrap_resource(self.body, singular, SINGULAR_NAMES)

    @property
    def context(self) -> RenderContext:
        return RenderContext(self.shop, self.version)

    def json_response(self, value: object, status: int = 200, **headers: str) -> HttpResponse:
        return self.bytes_response(orjson.dumps(value), status, **headers)

    def bytes_response(self, body: bytes, status: int = 200, **headers: str) -> HttpResponse:
        return HttpResponse(body, status=status, content_type=CONTENT_TYPE, headers=headers)
