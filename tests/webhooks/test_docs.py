import json
import re
import shutil
import subprocess
import sys

import pytest
from django.conf import settings

from apps.webhooks.domain.engine.headers import sign_body
from apps.webhooks.domain.engine.retry_policy import RETRY_SECONDS

SECRET = "bks_secret"
BODY = '{"id": 1, "title": "Müsli"}'
PAGE = (settings.BASE_DIR / "docs" / "webhooks.md").read_text()
# For each language, the interpreter, the option for inline code, and a program that prints the result for each case.
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
    "ruby": ("ruby", "-e", 'require "json"\nputs JSON.parse(ARGV[0]).map { |s, b, h| genuine?(s, b, h) }.to_json'),
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
    good = sign_body(SECRET, BODY.encode())
    forged = sign_body("another", BODY.encode())
    cases = [(SECRET, BODY, good), (SECRET, BODY + " ", good), ("another", BODY, good), (SECRET, BODY, forged)]
    cases.append((SECRET, BODY, ""))

    process = subprocess.run(
        [interpreter, option, f"{snippet[1]}\n{program}", json.dumps(cases)], capture_output=True, text=True, check=True
    )

    assert json.loads(process.stdout) == [True, False, False, False, False]


def test_page_has_the_retry_schedule() -> None:
    seconds = {"h": 3600, "m": 60, "s": 1}
    rows = re.findall(r"^\| (?:wait before it|since the first attempt) \|(.*)\|$", PAGE, re.MULTILINE)
    cells = [[re.findall(r"(\d+) ([hms])", cell) for cell in row.split("|")] for row in rows]
    waits, totals = ([sum(int(count) * seconds[unit] for count, unit in cell) for cell in row] for row in cells)

    # The page displays totals of an hour or more without seconds.
    elapsed = [sum(RETRY_SECONDS[: index + 1]) for index in range(len(RETRY_SECONDS))]
    assert tuple(waits) == RETRY_SECONDS
    assert totals == [total if total < 3600 else total // 60 * 60 for total in elapsed]
