import ast
import re
import tomllib
from collections import Counter

import grimp
from django.conf import settings

PRODUCT = ("apps", "backoffice")
MODULES = [
    path
    for product in PRODUCT
    for path in sorted((settings.BASE_DIR / product).rglob("*.py"))
    if "migrations" not in path.parts
]
LINTER = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["tool"]["importlinter"]


def read_diagram() -> list[set[str]]:
    block = (settings.BASE_DIR / "docs" / "architecture.md").read_text().split("```")[1]
    names = [re.split(r"\s{2,}", line[12:].strip())[0] for line in filter(None, block.splitlines())]
    return [set(name.split(" | ")) for name in names]


def test_diagram_shows_the_layers_of_the_import_contract() -> None:
    layers = next(rule["layers"] for rule in LINTER["contracts"] if rule["name"] == "Layers")

    assert read_diagram() == [
        {part.removeprefix("apps.") for part in re.split(r"\s*[|:]\s*", layer)} for layer in layers
    ]


def test_diagram_shows_every_app() -> None:
    folders = {path.parent.name for path in (settings.BASE_DIR / "apps").glob("*/__init__.py")}

    assert {name.split(".")[0] for layer in read_diagram() for name in layer} == folders | {"backoffice"}


def test_import_contracts_have_no_exceptions() -> None:
    assert not LINTER.get("exclude_type_checking_imports")
    assert not any(key.startswith(("ignore", "unmatched")) for rule in LINTER["contracts"] for key in rule)


def find_circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the groups of modules that import each other directly or indirectly."""
    imports = {module: graph.find_modules_directly_imported_by(module) & graph.modules for module in graph.modules}
    # Repeatedly remove modules that import nothing or that nothing imports. What remains is part of a circle, or lies
    # between two circles.
    while True:
        imported = set().union(*imports.values())
        remaining = {name for name, targets in imports.items() if targets and name in imported}
        if len(remaining) == len(imports):
            return [sorted(imports)] if imports else []
        imports = {name: imports[name] & remaining for name in remaining}


def test_no_modules_import_each_other_in_a_circle() -> None:
    # The imports that only type checkers see count as well.
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)

    assert find_circles(graph) == []


def test_circles_of_modules_are_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")):
        graph.add_import(importer=importer, imported=imported)

    assert find_circles(graph) == [["b", "c"]]


def test_folders_have_at_most_fifteen_modules() -> None:
    sizes = Counter(str(path.parent.relative_to(settings.BASE_DIR)) for path in MODULES if path.name != "__init__.py")

    assert {folder: size for folder, size in sizes.items() if size > 15} == {}


# Participles, adjectives and other words that have no clear meaning without context.
UNCLEAR_NAME = re.compile(
    r"found|told|said|made|kept|known|shown|given|taken|sent|left|held|heard|seen|meant|bought|"
    r"sold|paid|put|gone|done|begun|written|chosen|laid|drawn|hidden|due|lost|spent|built|read|"
    r"set|cut|split|wanted|asked|named|each|one|here|whole|further|others|some|fresh|again|way|"
    r"few|many|stored|listed|joined|narrowed|alive|answered|apart|arranged|beside|changed|claimed|"
    r"counted|declared|dropped|ended|expected|filled|filtered|folded|forgotten|handled|ignored|"
    r"installed|kinds|less|locked|mine|missing|more|moved|ordered|own|owed|placed|prepared|ready|"
    r"refused|registered|remaining|removed|renamed|rest|retold|rounded|rung|same|settled|such|theirs|"
    r"those|touched|united|unchanged|untouched|used|waiting|within|without"
)
# Names with a special meaning, which may occur in many modules.
HOOKS = frozenset({"ready", "upgrade", "downgrade", "handle", "main"})


def get_public_functions() -> dict[str, list[str]]:
    modules: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(str(path.relative_to(settings.BASE_DIR)))
    return modules


def test_public_functions_and_modules_have_names_that_say_what_they_are() -> None:
    names = get_public_functions()

    assert {name: places for name, places in names.items() if UNCLEAR_NAME.fullmatch(name)} == {}
    assert [path for path in MODULES if UNCLEAR_NAME.fullmatch(path.stem)] == []


def test_public_function_names_occur_in_at_most_two_modules() -> None:
    shared = {name: places for name, places in get_public_functions().items() if len(places) > 2 and name not in HOOKS}

    assert shared == {}
