from datetime import datetime

from apps.core.privacy import build_mention_filter
from apps.customers.domain.personal_data import PersonalData, get_identifying_words, personal_data_parts
from apps.customers.models import Customer
from apps.store_imports.models import ImportProblem


def _redact_problems(customer: Customer, actor: str, at: datetime) -> None:
    """Clear the problems of store imports that mention the customer."""
    words = get_identifying_words(customer)
    ImportProblem.objects.filter(build_mention_filter(("reason",), words)).update(reason="")


personal_data_parts.register("store imports", PersonalData(redact=_redact_problems))
