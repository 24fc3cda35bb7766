from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.shops.domain import charges, oauth, purchases

periodic_task("shops.expire_purchases", Every.MINUTE)(purchases.expire_purchases)
periodic_task("shops.expire_charges", Every.HOUR)(charges.expire_charges)
periodic_task("shops.delete_expired_codes_and_tokens", Every.HOUR)(oauth.delete_expired_codes_and_tokens)
