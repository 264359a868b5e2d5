"""The house itself: layers, quick imports, generated docs, complete registries."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("pyspark", "py4j", "pandas", "z3", "duckdb", "networkx")


def loaded_by(statement: str) -> set[str]:
    """The heavy packages that a fresh Python has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*[m for m in {HEAVY} if m in sys.modules])"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(result.stdout.split())


@pytest.mark.parametrize("statement", ["import predtrace", "import predtrace.cli"])
def test_imports_are_light(statement: str) -> None:
    assert loaded_by(statement) == set()


@pytest.mark.parametrize(
    "name",
    ["api", "cli.questions", "cli.jobs", "jobs.store", "jobs.model", "lineage.answer"],
)
def test_jobs_are_read_without_engines(name: str) -> None:
    assert loaded_by(f"import predtrace.{name}") == set()


def test_the_check_of_imports_can_fail() -> None:
    assert loaded_by("import duckdb") >= {"duckdb"}


def test_layers() -> None:
    script = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [str(script), "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_coverage_page_is_current() -> None:
    from predtrace.report.coverage import coverage

    page = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert page == coverage(), "write it anew: make docs"


def test_links_in_the_docs_lead_somewhere() -> None:
    checked = 0
    for page in [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
            checked += 1
    assert checked > 20


def paths_named_in_docs() -> list[tuple[Path, str]]:
    """The files and folders of this project that the docs name, each with its page."""
    named = re.compile(r"`((?:predtrace|pushdown|symbolic|tests|tpch)/[\w./]*)`")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [(page, path) for page in pages for path in named.findall(page.read_text("utf-8"))]


def test_paths_named_in_the_docs_exist() -> None:
    named = paths_named_in_docs()
    assert len(named) > 40
    for page, path in named:
        assert (ROOT / path).exists(), f"{page.name} names {path}, which is not there"


def test_the_page_on_layout_has_every_room_on_its_floor() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (rooms,) = (c["layers"] for c in contracts["contracts"] if c.get("containers") == ["predtrace"])
    floors = [set(floor.split(" | ")) for floor in reversed(rooms)]
    page = (ROOT / "docs" / "layout.md").read_text("utf-8")
    shown = re.findall(r"^\| (\d+) \| `(\w+)(?:/|\.py)` \|", page, flags=re.MULTILINE)
    assert [{room for floor, room in shown if int(floor) == n + 1} for n in range(len(floors))] == (
        floors
    )


@pytest.mark.parametrize("target", ["demo", "quick", "test", "docs"])
def test_make_knows_its_targets(target: str) -> None:
    result = subprocess.run(
        ["make", "--dry-run", target], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("variable", "said"), [("JAVA=/none/java", "Java 17 or newer"), ("PYTHON=none", "Python 3.11")]
)
def test_make_says_in_one_line_what_is_missing(variable: str, said: str) -> None:
    target = "check-java" if "JAVA" in variable else "check-python"
    result = subprocess.run(
        ["make", "--silent", variable, target],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode != 0
    first, *others = result.stderr.splitlines()
    assert said in first
    assert "install" in first
    assert all(line.startswith("make") for line in others)


def test_the_wheel_holds_the_library_and_its_data() -> None:
    """Every file of the library that is no module is named in pyproject; harnesses stay out."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    assert told["packages"]["find"]["include"] == ["predtrace*", "pushdown*", "symbolic*"]
    listed = subprocess.run(
        ["git", "ls-files", "predtrace", "pushdown", "symbolic"],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.split()  # fmt: skip
    data = {name for name in listed if not name.endswith((".py", ".md"))}
    assert data == {f"predtrace/{name}" for name in told["package-data"]["predtrace"]}
