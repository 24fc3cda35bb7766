"""Create the demo store's pages, redirects, policies and comments."""

from datetime import datetime, timedelta

from apps.content.domain import comments
from apps.content.domain.online_store import pages, policies, redirects
from apps.content.models import Article
from apps.metafields.domain.write import MetafieldInput

PAGES = (
    ("About us", "<p>We are a small wool shop by the harbor. We dye most of our yarn ourselves.</p>"),
    ("Contact", "<p>Write to us or visit us: Monday to Saturday, 10 to 18.</p>"),
    ("Frequently asked questions", "<h2>Can I return opened skeins?</h2><p>Yes, within 30 days.</p>"),
)
REDIRECTS = (("/about", "/pages/about-us"), ("/wool", "/collections/frontpage"))
POLICIES = (
    ("refund-policy", "<p>You can return unused goods within 30 days.</p>"),
    ("privacy-policy", "<p>We only store what we need to fulfill your order.</p>"),
)
COMMENTS = (
    ("Ida Sandvik", "ida@example.com", "Thank you! Do you have this pattern for children, too?", ""),
    ("Tom Barrow", "tom@example.com", "I knitted two pairs last winter. They still look like new.", "approve"),
    ("Best Prices", "deals@example.com", "Cheap watches: https://deals.example.com", "spam"),
)


def load_demo_pages(at: datetime) -> None:
    columns = MetafieldInput("layout", "columns", "number_integer", "1", "The number of columns")
    for title, body_html in PAGES:
        attrs = {"title": title, "body_html": body_html, "published_at": at - timedelta(days=90)}
        pages.create_page(attrs, metafield_drafts=[columns], actor="system", at=at)
    for path, target in REDIRECTS:
        redirects.create_redirect(path=path, target=target, actor="system", at=at)
    for handle, body in POLICIES:
        policies.create_policy(handle=handle, body=body, actor="system", at=at)
    article_id = Article.objects.order_by("id").values_list("id", flat=True)[0]
    for author, email, body, action in COMMENTS:
        attrs = {"article_id": article_id, "author": author, "email": email, "body": body, "ip": "203.0.113.7"}
        comment = comments.create_comment(attrs, actor="system", at=at)
        if action == "approve":
            comments.approve_comment(comment, actor="system", at=at)
        elif action == "spam":
            comments.mark_as_spam(comment, actor="system", at=at)
