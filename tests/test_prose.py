import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
CODE = ("apps", "backoffice", "benchmarks", "tests", "frontend", "docs")
# Words that are unusual in technical English, and words that only this product used.
ODD_WORDS = re.compile(
    r"\b(anew|whose|told|retold|beside|alike|likewise|bears?|thereof|therein|whoever|whatever|whichever|whomever|"
    r"meanwhile|nobody|somebody|aloud|at hand|those that|that which|said|of which|stands|henceforth|hitherto|thereupon|"
    r"whence|"
    r"hence|lest|thrice|for want of|makes? known|as it were|in the first place|doorbells?|rung|strangers?)\b",
    re.IGNORECASE,
)
# Words that cannot begin an imperative sentence.
NOT_A_VERB = re.compile(
    r"The|A|An|Its|Their|Those|What|Whether|How|Which|Where|Who|Whose|All|So|As|By|Of|In|With|"
    r"For|One|Within|Without|These|When|None|At|Each|Every|Until|Some|Only|Also|Not|No|More|Two|"
    r"Several|That|This|If|Nothing|Anything|Everything"
)
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LONGEST_CHANGE = 100
LONGEST_TEST_NAME = 12
# Words that cannot begin the name of a test, because its subject comes first.
NO_SUBJECT = re.compile(
    r"after|as|at|before|by|during|for|from|if|in|it|nothing|of|on|once|only|that|there|to|"
    r"under|unless|until|what|when|while|who|with|without"
)
Text = tuple[str, str]


def _python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"migrations", "node_modules", "release"} & set(path.parts):
                yield path


def _docstrings(path: Path) -> Iterator[tuple[ast.AST, int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node, getattr(node, "lineno", 1), docstring


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _texts_of_code() -> Iterator[Text]:
    for path in _python_files(*CODE):
        if path == Path(__file__):
            continue
        name = path.relative_to(ROOT)
        yield from ((f"{name}:{line}", text) for _, line, text in _docstrings(path))
        yield from ((f"{name}:{line}", text) for line, text in _comments(path))


def _texts_of_docs() -> Iterator[Text]:
    for path in [ROOT / name for name in ROOT_PAGES] + sorted((ROOT / "docs").rglob("*.md")):
        # The glossary also lists words to avoid.
        if path.name != "glossary.md":
            lines = path.read_text().splitlines()
            yield from ((f"{path.relative_to(ROOT)}:{line}", text) for line, text in enumerate(lines, 1))


def _texts_for_staff() -> Iterator[Text]:
    catalog = ROOT / "locale" / "de" / "LC_MESSAGES" / "django.po"
    with catalog.open("rb") as file:
        for message in read_po(file, locale="de"):
            texts = [message.id] if isinstance(message.id, str) else message.id
            yield from ((", ".join(location for location, _ in message.locations), str(text)) for text in texts)


@pytest.mark.parametrize("get_texts", [_texts_of_code, _texts_of_docs, _texts_for_staff])
def test_texts_use_plain_words(get_texts: Callable[[], Iterator[Text]]) -> None:
    odd = [(place, match[0], text[:100]) for place, text in get_texts() for match in ODD_WORDS.finditer(text)]

    assert odd == []


def test_odd_words_are_found_in_docstrings_and_comments(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""What somebody is told."""\n\n# Made anew.\nNAME = 1\n')

    texts = [text for _, _, text in _docstrings(module)] + [text for _, text in _comments(module)]

    assert [match.group(0) for text in texts for match in ODD_WORDS.finditer(text)] == ["somebody", "told", "anew"]


def test_function_docstrings_begin_with_a_verb() -> None:
    violations = [
        f"{path.relative_to(ROOT)}:{line}: {docstring.splitlines()[0]}"
        for path in _python_files("apps", "backoffice")
        for node, line, docstring in _docstrings(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and NOT_A_VERB.fullmatch(docstring.split(maxsplit=1)[0].strip(",.:;"))
        and not any("property" in ast.dump(decorator) for decorator in node.decorator_list)
    ]

    assert violations == []


def test_changelog_has_versions_and_short_lines() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()

    assert [line for line in lines if re.match(r"## \[?\d+\.\d+\.\d+", line)]
    assert [line for line in lines if len(line) > LONGEST_CHANGE] == []


def test_test_names_are_short_and_begin_with_their_subject() -> None:
    names = [
        node.name.removeprefix("test_").split("_")
        for path in _python_files("tests")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]

    wrong = [words for words in names if len(words) > LONGEST_TEST_NAME or NO_SUBJECT.fullmatch(words[0])]
    assert wrong == []
