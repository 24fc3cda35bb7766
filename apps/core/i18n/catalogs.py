"""Collect translatable strings from the sources, update the translation catalogs, and find problems in them."""

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

_KINDS = ("gettext", "ngettext", "pgettext", "npgettext")
_CALLS = {"_", "gettext_noop", *(f"{kind}{end}" for kind in _KINDS for end in ("", "_lazy"))}
# Calls with a code before the string.
_DEFINITIONS = {"define_message", "define_text"}
_LITERAL = re.compile(r"""\s*(u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*,?""", re.DOTALL)
_TEMPLATE_CALL = re.compile(r"\b(np?gettext|pgettext|gettext|_)\(")
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*[^{}]*\}")
_SCRIPT_CALL = re.compile(r"""\btranslate\(\s*("(?:[^"\\]|\\.)*")""")
SCRIPTS_FOLDER = "static/panel"
# Catalogs have a fixed date, so that a catalog changes only if its strings change.
_FIXED_DATE = datetime(2026, 1, 1, tzinfo=UTC)


class TranslatableText(NamedTuple):
    """A translatable string: the singular, the plural, and a context for strings with several meanings."""

    singular: str
    plural: str = ""
    context: str = ""

    @property
    def id(self) -> str | tuple[str, str]:
        return (self.singular, self.plural) if self.plural else self.singular


def collect_texts(root: Path) -> dict[TranslatableText, list[str]]:
    texts_by_file: dict[TranslatableText, list[str]] = {}
    for folder in ("apps", "backoffice", "templates"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".py", ".html", ".txt"} or "migrations" in path.parts:
                continue
            name = str(path.relative_to(root))
            source = path.read_text()
            for text in _parse_python(source) if path.suffix == ".py" else _parse_template(source, name):
                files = texts_by_file.setdefault(text, [])
                if name not in files:
                    files.append(name)
    for path in sorted([*(root / SCRIPTS_FOLDER).glob("*.js"), *(root / "frontend").rglob("*.js")]):
        for text in _parse_script(path.read_text()):
            texts_by_file.setdefault(text, []).append(str(path.relative_to(root)))
    return texts_by_file


def _parse_python(source: str) -> Iterator[TranslatableText]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            if name in _CALLS or name in _DEFINITIONS:
                texts = node.args[1:] if name in _DEFINITIONS else node.args
                arguments = [argument.value for argument in texts if isinstance(argument, ast.Constant)]
                yield from _build_text(name, [word for word in arguments if isinstance(word, str)])


def _parse_template(source: str, name: str) -> Iterator[TranslatableText]:
    if "trans" not in source and "_(" not in source:
        return
    marked = templatize(source, origin=name)
    for call in _TEMPLATE_CALL.finditer(marked):
        arguments, position = [], call.end()
        while literal := _LITERAL.match(marked, position):
            arguments.append(str(ast.literal_eval(literal[1].removeprefix("u"))))
            position = literal.end()
        yield from _build_text(call[1], arguments)


def _parse_script(source: str) -> list[TranslatableText]:
    return list(dict.fromkeys(TranslatableText(json.loads(words)) for words in _SCRIPT_CALL.findall(source)))


def _build_text(name: str, words: list[str]) -> Iterator[TranslatableText]:
    has_context, has_plural = name.startswith(("p", "np")), name.startswith("n")
    if len(words) > has_context + has_plural and words[has_context]:
        plural = words[has_context + 1] if has_plural else ""
        yield TranslatableText(words[has_context], plural, words[0] if has_context else "")


def read_catalog(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def update_catalog(
    path: Path, texts: Mapping[TranslatableText, list[str]], translations: Mapping[str, str | list[str]]
) -> Catalog:
    """Write a catalog with exactly the strings in the sources, its compiled file and its JavaScript file.

    Existing translations are kept unless ``translations`` replaces them. The key of a plural string is the singular and
    the plural, separated by ``|||``. A context precedes the string, separated by U+0004.
    """
    old_catalog = read_catalog(path) if path.exists() and path.stat().st_size else Catalog(locale=path.parts[-3])
    new_catalog = Catalog(
        locale=path.parts[-3],
        project="Backoffice",
        version="",
        creation_date=_FIXED_DATE,
        revision_date=_FIXED_DATE,
        fuzzy=False,
    )
    for text, places in sorted(texts.items()):
        key = f"{text.context}\x04" if text.context else ""
        key += f"{text.singular}|||{text.plural}" if text.plural else text.singular
        existing = old_catalog.get(text.id, text.context or None)
        new_translation = translations.get(key)
        translation = new_translation if new_translation is not None else existing.string if existing else ""
        new_catalog.add(
            text.id,
            tuple(translation) if isinstance(translation, list) else translation,
            locations=[(name, 0) for name in places],
            context=text.context or None,
        )
    with path.open("wb") as file:
        write_po(file, new_catalog, width=120, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, read_catalog(path))
    script = _get_script_path(path)
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_render_script(read_catalog(path), texts))
    return new_catalog


def _get_script_path(path: Path) -> Path:
    return path.parents[3] / SCRIPTS_FOLDER / f"words.{path.parts[-3]}.js"


def _render_script(catalog: Catalog, texts: Mapping[TranslatableText, list[str]]) -> str:
    script_texts = sorted(text for text, places in texts.items() if any(name.endswith(".js") for name in places))
    translations = {
        text.singular: message.string for text in script_texts if (message := _find(catalog, text)) and message.string
    }
    return f"window.panelWords = {json.dumps(translations, ensure_ascii=False, indent=2)};\n"


def find_problems(path: Path, texts: Mapping[TranslatableText, list[str]]) -> list[str]:
    catalog = read_catalog(path)
    problems = [
        f"missing: {text.singular!r} ({places[0]})" for text, places in texts.items() if not _find(catalog, text)
    ]
    for message in catalog:
        if message.id:
            problems += [f"{fault}: {message.id!r}" for fault in _find_message_problems(message)]
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled_path = path.with_suffix(".mo")
    if not compiled_path.exists() or _read_translations(compiled_path) != _read_translations(compiled):
        problems.append(f"{compiled_path.name} is outdated: {path.name} has changed")
    script = _get_script_path(path)
    if not script.exists() or script.read_text() != _render_script(catalog, texts):
        problems.append(f"{script.name} is outdated: {path.name} has changed")
    return problems


def _find(catalog: Catalog, text: TranslatableText) -> Message | None:
    return catalog.get(text.id, text.context or None)


def _read_translations(compiled: Path | io.BytesIO) -> dict[object, object]:
    source = compiled.open("rb") if isinstance(compiled, Path) else compiled
    source.seek(0)
    with source:
        return {(message.context, str(message.id)): message.string for message in read_mo(source) if message.id}


def _find_message_problems(message: Message) -> Iterator[str]:
    ids = list(message.id) if isinstance(message.id, (tuple, list)) else [message.id]
    translations = list(message.string) if isinstance(message.string, (tuple, list)) else [message.string or ""]
    if not all(translations):
        yield "untranslated"
        return
    if "fuzzy" in message.flags:
        yield "fuzzy"
    # The translation of a singular may omit the number.
    allowed = [sorted(set(_PLACEHOLDER.findall(text))) for text in ids]
    if any(sorted(set(_PLACEHOLDER.findall(text))) not in allowed for text in translations):
        yield "wrong placeholders"
