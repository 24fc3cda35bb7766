"""The shop as an owner of metafields."""

from apps.core.tenancy.models import Shop
from apps.metafields.domain.owners import OwnerType, owner_types

owner_types.add(OwnerType("", "shop", Shop, scope=None))
