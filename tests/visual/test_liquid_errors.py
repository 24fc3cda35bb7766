"""Test that the code editor translates error messages for invalid Liquid."""

import json
import subprocess
from pathlib import Path

from tests.support.subtests import Subtests

# For each piece of invalid Liquid code, a part of the expected error message.
BROKEN = {
    "{% foo %}": "there is no tag “foo”",
    "{% endif %}": "there is no tag “endif”",
    "{% if a %}": "tag {% if a %} is never closed",
    "{% comment %}": "tag {% comment %} is never closed",
    "{% if a": "tag {% if a is never closed",
    "{% raw %}x": "tag {% raw %}x is never closed",
    "{{ a": "output {{ a is never closed",
    "{{ 'a | upcase }}": "output {{ 'a | upcase }} is never closed",
    "{{ a | upcase x }}": "“:” is missing after a filter's name",
    "{% if %}x{% endif %}": "a value is missing",
    "{% assign = 3 %}": "a variable's name is missing",
    "{% assign a 3 %}": "“=” is missing",
    "{% capture %}{% endcapture %}": "a variable's name is missing",
    "{% for x %}{% endfor %}": "the syntax of {% for x %} is invalid",
    "{% tablerow x in %}{% endtablerow %}": "is invalid",
    "{% %}": "a tag's name is missing",
    "{% include %}": "a file's name is missing",
    "{% render %}": "a file's name is missing",
    "{% cycle %}": "{% cycle %} has no values to choose from",
    "{% if a %}{% else %}{% elsif b %}{% endif %}": "elsif comes after else",
    "{% if a %}{% else %}{% else %}{% endif %}": "else occurs twice",
    "{{ a[ }}": "[ is never closed",
    "{{ (1..) }}": "a value is missing before )",
    "{{ (1..2 }}": "write a range in the form (1..5)",
    "{% # a\n b %}": "every line of an inline comment must begin with #",
}


def test_every_liquid_error_is_translated(tmp_path: Path, node_packages: Path) -> None:
    script = tmp_path / "flaws.cjs"
    options = ("--bundle", "--platform=node", "--format=cjs", "--log-level=error", f"--outfile={script}")
    subprocess.run([node_packages / ".bin" / "esbuild", str(Path(__file__).parent / "flaws.js"), *options], check=True)
    process = subprocess.run(["node", script], input=json.dumps([*BROKEN]), check=True, capture_output=True, text=True)

    with Subtests() as subtest:
        for (text, expected), message in zip(BROKEN.items(), json.loads(process.stdout), strict=True):
            with subtest(text):
                assert message.startswith("«")
                assert message.endswith("»")
                assert expected in message
