from apps.customers.models import Customer
from apps.metafields.domain.owners import OwnerType, owner_types

owner_types.add(OwnerType("customers", "customer", Customer, scope="customers", is_personal=True))
