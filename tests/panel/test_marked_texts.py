"""Tests that every text in the panel's templates is marked for translation as a complete sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

import unfold
from django.conf import settings

# Templates that are never translated: the API documentation.
ENGLISH = ("templates/api/",)
# Parts of templates that are not texts: icon names, code, and parts that users do not see.
_DROPPED = re.compile(
    r"\{%\s*comment\b.*?endcomment\s*%\}"
    r"|\{%\s*blocktranslate\b.*?endblocktranslate\s*%\}"
    r"|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->"
    r"|<(script|style|pre|code|kbd|title)\b.*?</\1>"
    r'|<span class="material-symbols-outlined[^>]*>[^<]*</span>',
    re.DOTALL,
)
_TAG = re.compile(r'</?[a-zA-Z!](?:"[^"]*"|[^>"])*>', re.DOTALL)
_TOLD = re.compile(r'\b(?:title|aria-label|placeholder|alt)="([^"]*)"')
_WORD = re.compile(r"[^\W\d_]{2,}")
# Words that are equal in all languages, names and CSS classes.
ALIKE = {"CSV", "EUR", "SKU", "ms", "Backoffice", "bo-main-narrow", "snippets/card.liquid", "app- model- change-list"}

# A label that is put together from a translated text and a variable, such as a verb and the object's name.
_PUT_TOGETHER = re.compile(
    r"\{%-? *trans(?:late)? (?:\"[^\"]*[^\":]\"|'[^']*[^':]') *%\}(?:\s|<span class=\"bo-hidden\">)*\{\{"
)


def find_unmarked(text: str) -> Iterator[str]:
    """Yield the texts and attributes that contain letters but are not inside translation tags."""
    plain = _DROPPED.sub("", text)
    for tag in _TAG.findall(plain):
        yield from (match for match in _TOLD.findall(tag) if _WORD.search(match))
    for part in _TAG.split(plain):
        part = re.sub(r"&\w+;|&#\d+;", "", part)
        if _WORD.search(part):
            yield " ".join(part.split())


def test_texts_that_are_not_marked_are_found() -> None:
    text = """<p title="Hello">{% translate "No" %} {{ name }} <b>Yes</b> <code>code</code>
        <i aria-label="{% translate "Fine" %}">–</i>
        {% blocktranslate trimmed %}All {{ n }}{% endblocktranslate %}</p>"""

    assert list(find_unmarked(text)) == ["Hello", "Yes"]


def test_templates_mark_their_texts() -> None:
    base = Path(settings.BASE_DIR)
    files = [*base.glob("templates/**/*.html"), *base.glob("apps/*/templates/**/*.html")]
    names = {path: path.relative_to(base).as_posix() for path in files}

    texts = {
        f"{name}: {text}"
        for path, name in names.items()
        if not name.startswith(ENGLISH)
        for text in find_unmarked(path.read_text())
        if text not in ALIKE
    }

    assert len(files) > 150
    assert sorted(texts) == []


def test_labels_are_not_put_together_in_templates() -> None:
    base = Path(settings.BASE_DIR, "templates")
    theme = Path(unfold.__file__).parent / "templates"
    files = {path.relative_to(folder).as_posix(): path for folder in (theme, base) for path in folder.rglob("*.html")}

    # The panel does not use the theme's templates for django-crispy-forms.
    used = (name for name in files if not name.startswith("unfold_crispy/"))
    matching_files = [name for name in used if _PUT_TOGETHER.search(files[name].read_text())]

    assert len(files) > 250
    assert _PUT_TOGETHER.search('{% trans "Delete" %} {{ opts.verbose_name }}')
    assert sorted(matching_files) == []
