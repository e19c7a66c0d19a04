"""The page on studies: its commands are run in their order on small images, and its tables and settings are accepted."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.settings import read_settings, validated
from tests import small_study
from tests.settings_page import PAGE, page
from tests.test_docs import blocks

ROOT = Path(__file__).parent.parent
STUDY = ROOT / "docs" / "study.md"
OWN = ROOT / "docs" / "how-to" / "own-model.md"


def commands(file: Path) -> list[list[str]]:
    return [shlex.split(line) for block in blocks(file, "sh") for line in block.splitlines() if line.strip()]


@pytest.fixture
def newcomer(images, tmp_path, monkeypatch) -> Path:
    """A folder as the page supposes it: photos, weights and names."""
    shutil.copytree(images / "images", tmp_path / "photos")
    shutil.copy(images / "small.safetensors", tmp_path / "weights.safetensors")
    (tmp_path / "names.txt").write_text("\n".join(small_study.CLASSES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_the_page_run_in_their_order(newcomer):
    told = [words for words in commands(STUDY) if "first" not in words]
    assert [words[1] for words in told] == ["init", "run", "status", "run", "run", "status"]
    for words in told:
        small = ["timm:test_resnet" if word == "timm:resnet50" else word for word in words[1:]]
        done = CliRunner().invoke(app, small)
        assert done.exit_code == 0, (words, done.output)
    assert (newcomer / "birds" / "artifacts" / "compose" / "gallery.html").exists()


def test_the_commands_for_ones_own_model_run_in_their_order(newcomer):
    told = commands(OWN)
    assert [words[1] for words in told] == ["explain", "init", "run", "run"]
    for words in told:
        small = [word.replace("timm:resnet50", "timm:test_resnet").replace("/cat/", "/red/") for word in words[1:]]
        done = CliRunner().invoke(app, small)
        assert done.exit_code == 0, (words, done.output)
    assert (newcomer / "explained" / Path(told[0][2]).stem / "overlay.png").exists()
    assert (newcomer / "pets" / "artifacts" / "compose" / "gallery.html").exists()


def test_the_first_two_commands_are_those_of_the_drawn_world():
    assert commands(STUDY)[:2] == [
        ["bayesteach", "init", "first", "--recipe", "shortcuts"],
        ["bayesteach", "run", "first"],
    ]


def test_the_page_on_settings_is_what_the_settings_say():
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.settings_page`"


def test_the_arms_of_the_page_are_a_study(tmp_path):
    (written,) = blocks(STUDY, "toml")
    arms = validated(tomllib.loads(written), "page").study.arms
    assert [(arm.name, arm.probe, arm.examples) for arm in arms] == [
        ("nothing", None, None),
        ("maps", "expected_mask", None),
        ("lessons", None, "lesson"),
    ]


def test_every_option_of_init_run_and_status_is_on_a_page():
    from typer.main import get_command  # noqa: PLC0415

    text = "".join((ROOT / "docs" / page).read_text("utf-8") for page in ("study.md", "imagenet.md", "cluster.md"))
    for name in ("init", "run", "status"):
        for parameter in get_command(app).commands[name].params:
            for option in parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert option in text, (name, option)


def paper_rows() -> list[tuple[str, str]]:
    """The first two columns of the table of the paper's numbers."""
    text = (ROOT / "docs" / "paper.md").read_text("utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(row[0].strip("| "), row[1]) for row in rows[1:]]


def test_the_table_of_the_papers_numbers_says_what_the_preset_does():
    paper = validated({"preset": "paper"}, "page")
    said = 0
    for _, cell in paper_rows():
        for key, value in re.findall(r"`([a-z_]+\.[a-z_.]+) = ([^`]+)`", cell):
            section, name = key.split(".")
            found = getattr(getattr(paper, section), name)
            expected = tomllib.loads(f"value = {value}")["value"]
            assert (list(found) if isinstance(found, tuple) else found) == expected, key
            said += 1
    assert said >= 18


def test_every_setting_that_cites_the_paper_is_in_the_table():
    from bayesteach.settings import Settings  # noqa: PLC0415
    from tests.test_settings import fields  # noqa: PLC0415

    cells = " ".join(cell for _, cell in paper_rows())
    for name, text in fields(Settings).items():
        if "(paper: " in str(text):
            assert f"`{name}" in cells, name


def test_the_preset_changes_nothing_that_the_page_does_not_name(tmp_path):
    (tmp_path / "study.toml").write_text('preset = "paper"\n')
    cells = " ".join(cell for _, cell in paper_rows())
    default, paper = validated({}, "page"), read_settings(tmp_path)
    for section in ("model", "collect", "fit", "design", "teach", "highlight", "compose", "study"):
        one, other = getattr(default, section).model_dump(), getattr(paper, section).model_dump()
        for name in one:
            if one[name] != other[name]:
                assert f"`{section}.{name}" in cells, name
