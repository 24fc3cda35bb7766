"""The snippets of docs/webhooks.md verify what we sign, and nothing else; each runs where its interpreter is."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from django.conf import settings

from apps.webhooks.domain.engine.signing import body_signature

SECRET = "bks_secret"
BODY = '{"id": 1, "title": "Müsli"}'
PAGE = (settings.BASE_DIR / "docs" / "webhooks.md").read_text()
# By language: the interpreter, its option for a program, and a program that prints what the snippet says of each case.
RUN = {
    "python": (
        sys.executable,
        "-c",
        "import json, sys\nprint(json.dumps([is_genuine(s, b.encode(), h) for s, b, h in json.loads(sys.argv[1])]))",
    ),
    "js": (
        "node",
        "-e",
        "console.log(JSON.stringify(JSON.parse(process.argv[1]).map(([s, b, h]) => isGenuine(s, Buffer.from(b), h))))",
    ),
    "ruby": (
        "ruby",
        "-e",
        'require "json"\nputs JSON.parse(ARGV[0]).map { |s, b, h| genuine?(s, b, h) }.to_json',
    ),
    "php": (
        "php",
        "-r",
        "echo json_encode(array_map(fn($c) => is_genuine($c[0], $c[1], $c[2]), json_decode($argv[1])));",
    ),
}


@pytest.mark.parametrize("language", RUN)
def test_snippets_verify_what_we_sign(language: str) -> None:
    interpreter, option, program = RUN[language]
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not on this machine")
    snippet = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert snippet
    good = body_signature(SECRET, BODY.encode())
    cases = [
        (SECRET, BODY, good),
        (SECRET, BODY + " ", good),
        ("another", BODY, good),
        (SECRET, BODY, body_signature("another", BODY.encode())),
        (SECRET, BODY, ""),
    ]

    done = subprocess.run(
        [interpreter, option, f"{snippet[1]}\n{program}", json.dumps(cases)], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == [True, False, False, False, False]
