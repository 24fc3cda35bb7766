from apps.core.jobs.periodic_tasks import hourly_tasks, minute_tasks
from apps.shops.domain import oauth, purchases

minute_tasks.register("expired app purchases", purchases.expire_purchases)
hourly_tasks.register("expired app codes and tokens", oauth.delete_expired_codes_and_tokens)
