"""The catalogues of translations: what the sources say, and whether each language says it too."""

import ast
import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

_CALLS = {"_", *(f"{kind}{end}" for kind in ("gettext", "ngettext", "pgettext", "npgettext") for end in ("", "_lazy"))}
_NOOP = "gettext_noop"
_LITERAL = re.compile(r"""\s*(u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*,?""", re.DOTALL)
_IN_TEMPLATE = re.compile(r"\b(np?gettext|pgettext|gettext|_)\(")
_PLACE = re.compile(r"%\(\w+\)[sd]|\{\w*[^{}]*\}")
_IN_SCRIPT = re.compile(r"""\btranslate\(\s*("(?:[^"\\]|\\.)*")""")
SCRIPTS = "static/panel"
# Catalogues change only with their texts.
_MADE = datetime(2026, 1, 1, tzinfo=UTC)


class Text(NamedTuple):
    """A text of the sources: what is translated, its plural, and what tells it from the same words elsewhere."""

    one: str
    many: str = ""
    context: str = ""

    @property
    def id(self) -> str | tuple[str, str]:
        """As catalogues name it."""
        return (self.one, self.many) if self.many else self.one


def collect(root: Path) -> dict[Text, list[str]]:
    """Every marked text below the folders of sources, with the files that say it."""
    found: dict[Text, list[str]] = {}
    for folder in ("apps", "backoffice", "templates"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".py", ".html", ".txt"} or "migrations" in path.parts:
                continue
            place = str(path.relative_to(root))
            source = path.read_text()
            for text in _of_python(source) if path.suffix == ".py" else _of_template(source, place):
                places = found.setdefault(text, [])
                if place not in places:
                    places.append(place)
    for path in sorted([*(root / SCRIPTS).glob("*.js"), *(root / "frontend").rglob("*.js")]):
        for text in _of_script(path.read_text()):
            found.setdefault(text, []).append(str(path.relative_to(root)))
    return found


def _of_python(source: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            if name in _CALLS or name == _NOOP:
                words = [each.value for each in node.args if isinstance(each, ast.Constant)]
                yield from _text(name, [word for word in words if isinstance(word, str)])


def _of_template(source: str, place: str) -> Iterator[Text]:
    if "trans" not in source and "_(" not in source:
        return
    marked = templatize(source, origin=place)
    for call in _IN_TEMPLATE.finditer(marked):
        words, at = [], call.end()
        while literal := _LITERAL.match(marked, at):
            words.append(str(ast.literal_eval(literal[1].removeprefix("u"))))
            at = literal.end()
        yield from _text(call[1], words)


def _of_script(source: str) -> list[Text]:
    return list(dict.fromkeys(Text(json.loads(words)) for words in _IN_SCRIPT.findall(source)))


def _text(name: str, words: list[str]) -> Iterator[Text]:
    if name.startswith("np"):
        if len(words) > 2:
            yield Text(words[1], words[2], words[0])
    elif name.startswith("ng"):
        if len(words) > 1:
            yield Text(words[0], words[1])
    elif name.startswith("p"):
        if len(words) > 1:
            yield Text(words[1], context=words[0])
    elif words and words[0]:
        yield Text(words[0])


def read(path: Path) -> Catalog:
    """A catalogue."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def update(path: Path, texts: Mapping[Text, list[str]], translations: Mapping[str, str | list[str]]) -> Catalog:
    """Write a catalogue with exactly the texts of the sources, keeping what is translated.

    Args:
        path: The ``.po``; its ``.mo`` is written beside it, and the words of scripts beside these.
        texts: What ``collect`` found.
        translations: More of them: ``singular|||plural``; a context stands before its text, with U+0004 between.
    """
    before = read(path) if path.exists() and path.stat().st_size else Catalog(locale=path.parts[-3])
    after = Catalog(
        locale=path.parts[-3], project="Backoffice", version="", creation_date=_MADE, revision_date=_MADE, fuzzy=False
    )
    for text, places in sorted(texts.items()):
        key = f"{text.context}\x04" if text.context else ""
        key += f"{text.one}|||{text.many}" if text.many else text.one
        kept = before.get(text.id, text.context or None)
        given = translations.get(key)
        said = given if given is not None else kept.string if kept else ""
        after.add(
            text.id,
            tuple(said) if isinstance(said, list) else said,
            locations=[(place, 0) for place in places],
            context=text.context or None,
        )
    with path.open("wb") as file:
        write_po(file, after, width=120, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, read(path))
    script = _script_of(path)
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_words_of(read(path), texts))
    return after


def _script_of(path: Path) -> Path:
    """The script beside the others that says to them what a catalogue says."""
    return path.parents[3] / SCRIPTS / f"words.{path.parts[-3]}.js"


def _words_of(catalog: Catalog, texts: Mapping[Text, list[str]]) -> str:
    """The texts of scripts in a language, as a script."""
    own = sorted(text for text, places in texts.items() if any(place.endswith(".js") for place in places))
    words = {text.one: message.string for text in own if (message := _find(catalog, text)) and message.string}
    return f"window.panelWords = {json.dumps(words, ensure_ascii=False, indent=2)};\n"


def faults(path: Path, texts: Mapping[Text, list[str]]) -> list[str]:
    """What keeps a catalogue from saying all that the sources say."""
    catalog = read(path)
    found = [f"missing: {text.one!r} ({places[0]})" for text, places in texts.items() if not _find(catalog, text)]
    for message in catalog:
        if message.id:
            found += [f"{fault}: {message.id!r}" for fault in _faults_of(message)]
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    made = path.with_suffix(".mo")
    if not made.exists() or _said(made) != _said(compiled):
        found.append(f"{made.name} is not made of {path.name}")
    script = _script_of(path)
    if not script.exists() or script.read_text() != _words_of(catalog, texts):
        found.append(f"{script.name} is not made of {path.name}")
    return found


def _find(catalog: Catalog, text: Text) -> Message | None:
    return catalog.get(text.id, text.context or None)


def _said(compiled: Path | io.BytesIO) -> dict[object, object]:
    source = compiled.open("rb") if isinstance(compiled, Path) else compiled
    source.seek(0)
    with source:
        return {(message.context, str(message.id)): message.string for message in read_mo(source) if message.id}


def _faults_of(message: Message) -> Iterator[str]:
    ids = list(message.id) if isinstance(message.id, (tuple, list)) else [message.id]
    said = list(message.string) if isinstance(message.string, (tuple, list)) else [message.string or ""]
    if not all(said):
        yield "untranslated"
        return
    if "fuzzy" in message.flags:
        yield "fuzzy"
    # A form for one thing may leave its number out.
    allowed = [sorted(set(_PLACE.findall(each))) for each in ids]
    if any(sorted(set(_PLACE.findall(each))) not in allowed for each in said):
        yield "other placeholders"
