"""Send emails about new notifications to staff members."""

from datetime import datetime

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from apps.core.admin.reverse import get_panel_url
from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.notifications.domain.batches import SEND_TASK, find_digest

SETTINGS_PAGE = "admin:notifications"


@job_task(SEND_TASK, title=gettext_lazy("Notification email"))
def send_notification_email(job: Job, *, member_id: int, kind: str, batch: str) -> None:
    """Send an email about a batch, unless the member has lost access or turned the emails off in the meantime."""
    shop, digest = get_current_shop(), find_digest(member_id, kind, datetime.fromisoformat(batch))
    if digest is None:
        return
    user, page = digest.user, digest.kind.object_page
    linked = digest.kind.find_pages(list(digest.names)) if page else ()
    with formats.language_override(user.language, shop.primary_locale):
        title = digest.kind.get_text(digest.count, str(digest.count))
        list_url = _get_url(shop, digest.kind.list_page)
        text = render_to_string(
            "notifications/email.txt",
            {
                "title": title,
                "shop": shop,
                "rows": [(name, _get_url(shop, page, pk) if pk in linked else "") for pk, name in digest.names.items()],
                "unlisted": digest.unlisted,
                "list_url": f"{list_url}?{digest.kind.list_query}" if digest.kind.list_query else list_url,
                "settings_url": _get_url(shop, SETTINGS_PAGE),
            },
        )
    subject = " ".join(f"{title} – {shop.name}".split())
    emails.send_email(EmailMessage(subject=subject, body=text, from_email=shop.email, to=[user.email]))


def _get_url(shop: Shop, name: str, *args: object) -> str:
    return f"{settings.BASE_URL}{get_panel_url(shop, name, *args)}"
