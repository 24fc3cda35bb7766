"""A viewset for customers, with a token check that uses the ORM."""

import hashlib
from types import SimpleNamespace
from typing import Any

from django.db.models import QuerySet
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.pagination import CursorPagination
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from benchmarks.naive.models import Customer, Token
from benchmarks.naive.serializers import CustomerSerializer


class TokenAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Any, Token]:
        digest = hashlib.sha256(request.headers.get("X-Platform-Access-Token", "").encode()).hexdigest()
        token = Token.objects.filter(digest=digest, revoked_at=None).first()
        if token is None:
            raise AuthenticationFailed
        return SimpleNamespace(is_authenticated=True), token


class Pages(CursorPagination):
    page_size = 50
    ordering = "-id"

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"customers": data, "next": self.get_next_link()})


class CustomerViewSet(ModelViewSet):
    serializer_class = CustomerSerializer
    authentication_classes = (TokenAuthentication,)
    permission_classes = (IsAuthenticated,)
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[Customer]:
        rows = Customer.objects.filter(shop_id=self.request.auth.shop_id)
        return rows.select_related("default_address__customer").prefetch_related("addresses")

    def get_serializer(self, *args: Any, **kwargs: Any) -> BaseSerializer[Any]:
        if "data" in kwargs:
            kwargs["data"] = kwargs["data"]["customer"]
        return super().get_serializer(*args, **kwargs)

    def perform_create(self, serializer: BaseSerializer[Any]) -> None:
        serializer.save(shop_id=self.request.auth.shop_id)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response({"customer": self.get_serializer(self.get_object()).data})
