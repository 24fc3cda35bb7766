from django.db.models import QuerySet

from apps.core.rest.resources.fields import ReadOnlyColumn, TextField
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.shops.api.charges import ChargePriceField, TestField
from apps.shops.domain.app_records import app_credits
from apps.shops.models import ApplicationCredit


class ApplicationCreditSerializer(ResourceSerializer[ApplicationCredit]):
    amount = ChargePriceField(required=True)
    description = TextField(max_length=255)
    test = TestField(required=False)
    currency = ReadOnlyColumn()


class ApplicationCreditViewSet(ShopViewSet[ApplicationCredit]):
    """The credits of the calling app."""

    serializer_class = ApplicationCreditSerializer
    singular = "application_credit"

    def get_queryset(self) -> QuerySet[ApplicationCredit]:
        return ApplicationCredit.objects.filter(installation__app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> ApplicationCredit:
        return app_credits.create_credit(self.access.installation, attrs, actor=self.actor, at=self.at)
