"""What the documents promise: their code runs, their commands and links exist."""

import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from typer.main import get_command

from bayesteach.cli import app
from bayesteach.pipeline import STAGES
from bayesteach.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


PYTHON = [(page, code) for page in PAGES for code in blocks(page, "python")]


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[name(page) for page, _ in PYTHON])
def test_the_python_in_the_documents_runs(page, code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_readme_has_python_to_run():
    assert blocks(ROOT / "README.md", "python")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_documents_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_make_commands_of_the_documents_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        command
        for page in PAGES
        for text in [*blocks(page, "sh"), *re.findall(r"`(make [a-z]+)`", page.read_text())]
        for command in re.findall(r"^make ([a-z]+)", text, re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


FENCED = [
    (page, line.partition(" #")[0])
    for page in PAGES
    for block in re.findall(r"^ *```(?:sh)?\n(.*?)^ *```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in re.findall(r"^ *(?:\.venv/bin/)?(bayesteach .*)$", block, re.MULTILINE)
]


@pytest.mark.parametrize(("page", "line"), FENCED, ids=[f"{name(page)}: {line.strip()}" for page, line in FENCED])
def test_the_commands_of_the_documents_can_be_given(page, line):
    """Read as the program reads them, and not run."""
    _, command, *words = shlex.split(line)
    get_command(app).commands[command].make_context(command, words)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_the_documents_say_of_commands_in_passing_exists(page):
    commands = get_command(app).commands
    for said in re.findall(r"`bayesteach ([^`\n]+)`", page.read_text("utf-8")):
        command, *words = (word for word in said.split() if word != "--debug")
        if command.isupper() or command.startswith("-"):
            continue
        options = {name for parameter in commands[command].params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, said


def test_the_page_on_explain_names_every_option():
    page = (ROOT / "docs" / "explain.md").read_text()
    explain = get_command(app).commands["explain"]
    options = {name for parameter in explain.params for name in parameter.opts if name.startswith("--")}
    assert "--faithfulness" in options
    assert {name for name in options - {"--help"} if name not in page} == set()


def test_the_page_on_the_study_names_every_option():
    page = (ROOT / "docs" / "experiment.md").read_text()
    commands = [get_command(app).commands[name] for name in ("serve", "simulate", "export", "backup", "restore")]
    options = {name for command in commands for parameter in command.params for name in parameter.opts}
    wanted = {name for name in options - {"--help"} if name.startswith("--")}
    assert "--behind-proxy" in wanted
    assert {name for name in wanted if name not in page} == set()


def test_the_mathematics_draw_their_picture(tmp_path):
    script = ROOT / "examples" / "mathematics.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "mathematics.png").stat().st_size > 10_000
    best, random = re.findall(r"P = ([\d.]+)|random ones: ([\d.]+)", done.stdout)
    assert float(best[0]) >= float(random[1])


def test_the_tutorial_runs_from_an_empty_folder(tmp_path):
    page = (ROOT / "docs" / "tutorial.md").read_text()
    steps = re.findall(r"^```(python|sh)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in steps][:2] == ["python", "sh"]
    for language, code in steps:
        commands = (
            [["-c", code]] if language == "python" else [["-m", *shlex.split(line)] for line in code.splitlines()]
        )
        for words in commands:
            done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
            assert done.returncode == 0, " ".join(words) + done.stdout + done.stderr
    for made in ("my-study/artifacts/compose/gallery.html", "my-study/measures/means.csv", "analysis/report.html"):
        assert (tmp_path / made).is_file()
    assert (tmp_path / "answers" / "dataset_description.json").is_file()


def test_the_reference_is_what_the_code_says():
    spec = spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    reference = module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert reference.page() == reference.PAGE.read_text("utf-8"), "Run make reference."


def test_the_reference_names_every_command_option_setting_and_artifact():
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    for name, command in get_command(app).commands.items():
        assert f"### bayesteach {name}\n" in page
        for parameter in command.params:
            for flag in (flag for flag in parameter.opts if flag.startswith("-") and parameter.name != "help"):
                assert f"`{flag}" in page
    for name, field in Settings.model_fields.items():
        inner = getattr(field.annotation, "model_fields", {})
        for key in [f"{name}.{part}" for part in inner] or [name]:
            assert f"`{key}`" in page, key
    for stage in STAGES:
        assert f"`{stage.name}`" in page
        assert f"### {stage.output.__name__}\n" in page


def test_the_readme_names_the_python_that_it_needs():
    (least,) = re.findall(r'^requires-python = ">=([\d.]+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert f"Python {least} or later" in (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_a_trial_and_says_how_to_cite():
    page = (ROOT / "README.md").read_text("utf-8")
    assert page.index("docs/images/trial.png") < page.index("## Two commands")
    assert "## Cite" in page
    assert "docs/limits.md" in page
