from django.utils.translation import gettext_lazy

from apps.core.jobs.queue import Task, tasks
from apps.inventory.domain import low_stock

tasks.register(low_stock.MARK_TASK, Task(low_stock.run_mark_low, gettext_lazy("Update low stock")))
