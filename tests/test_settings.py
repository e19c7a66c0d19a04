"""study.toml: what is said, what a preset says, what is refused, and that a written file says what was meant."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from bayesteach.errors import BadSettings, BadStudy
from bayesteach.recipes import commented, write_study
from bayesteach.settings import PAPER, Section, Settings, read_settings, validated


def study(folder: Path, text: str) -> Path:
    (folder / "study.toml").write_text(text)
    return folder


def fields(kind: type[BaseModel], prefix: str = "") -> dict[str, str | None]:
    """Every setting by its full name, with its docstring."""
    found = {}
    for name, field in kind.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            found |= fields(inner, f"{prefix}{name}.")
        else:
            found[prefix + name] = field.description
    return found


def test_what_is_said_stands_over_the_preset_and_the_command_line_over_both(tmp_path):
    folder = study(tmp_path, 'preset = "paper"\n[teach]\ncandidates = 50\n')
    settings = read_settings(folder, ["teach.threshold=0.7", "teach.search=best_of"])
    assert settings.teach.learner == "logistic"
    assert settings.teach.candidates == 50
    assert settings.teach.threshold == 0.7
    assert settings.teach.search == "best_of"


def test_the_preset_can_be_chosen_on_the_command_line(tmp_path):
    assert read_settings(study(tmp_path, ""), preset="paper").fit.images == 1_281_167
    assert read_settings(tmp_path).fit.images is None


def test_the_paper_is_what_the_paper_says():
    paper = validated({"preset": "paper"}, "test")
    assert paper.model.geometry == "squash"
    assert (paper.fit.images, paper.fit.prior_precision, paper.fit.shrinkage, paper.fit.draws) == (1_281_167, 0, 0, 100)
    assert (paper.fit.refit, paper.fit.refit_views) == (True, 100)
    assert paper.design.categories == 30
    teach = paper.teach
    assert (teach.learner, teach.search, teach.candidates, teach.threshold) == ("logistic", "first_past", 200, 0.8)
    assert (teach.each, teach.views, teach.knowledge, teach.prior_strength) == (2, 128, 1, 1)
    assert (paper.highlight.masks, paper.highlight.baseline) == (1000, "black")
    assert {arm.name for arm in paper.study.arms} == {"control", "saliency", "examples", "both"}
    assert paper.study.trials_per_person is None


def test_every_number_that_the_paper_fixes_is_cited_where_the_preset_sets_it():
    told = fields(Settings)
    for section, values in PAPER.items():
        for name in values:
            if name not in {"practice", "attention"}:  # the paper does not mention them
                assert "paper: " in str(told[f"{section}.{name}"]), f"{section}.{name}"


def test_every_setting_says_what_it_is():
    assert not [name for name, text in fields(Settings).items() if not text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[teach]\ncandidate = 5\n", ["no setting teach.candidate", "spelling"]),
        ("[teach]\nthreshold = 2\n", ["teach.threshold", "found 2"]),
        ("[teach\n", ["study.toml", "Mend the line"]),
        ('preset = "mine"\n', ["preset", "'mine'", "paper"]),
        ('[[source]]\nname = "a"\n', ["source.0", "one of folder, csv and dataset"]),
        (
            '[[source]]\nname = "train"\nfolder = "a"\n[fit]\nheld_out = ["train"]\n',
            ["design.standard", "'val'", "only train"],
        ),
        (
            '[[study.arms]]\nname = "a"\nfactors = { x = 1 }\n[[study.arms]]\nname = "b"\n',
            ["every arm", "same factors"],
        ),
        ('[[study.arms]]\nname = "a"\n[[study.arms]]\nname = "a"\n', ["two arms", "a, a"]),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_reason(text, words, tmp_path):
    with pytest.raises(BadSettings) as refused:
        read_settings(study(tmp_path, text))
    for word in words:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value).strip()


@pytest.mark.parametrize("change", ["teach", "=5", "seed.inner=5", "teach.candidates"])
def test_a_change_that_is_none_is_refused(change, tmp_path):
    with pytest.raises(BadSettings):
        read_settings(study(tmp_path, "seed = 1\n"), [change])


def test_a_folder_without_a_study_is_told_how_to_begin(tmp_path):
    with pytest.raises(BadSettings, match="bayesteach init"):
        read_settings(tmp_path)


def test_a_written_study_names_every_setting_and_changes_none():
    text = commented({})
    assert validated(tomllib.loads(text), "test") == Settings()
    for name in fields(Settings):
        if not name.startswith(("source", "study.arms")):
            assert re.search(rf"^#? ?{name.rpartition('.')[2]} =", text, re.MULTILINE), name


def test_a_written_study_uncommented_is_the_default():
    """What the comments show is what holds."""
    lines = []
    for line in commented({}).splitlines():
        bare = line.removeprefix("# ")
        is_setting = re.match(r"[a-z_]+ = .+", bare) or bare.startswith("[")
        lines.append(bare if is_setting else "")
    assert validated(tomllib.loads("\n".join(lines)), "test") == Settings()


def test_what_a_recipe_says_is_read_back(tmp_path):
    arms = [
        {"name": "maps", "probe": "expected_mask", "factors": {"maps": 1}},
        {"name": "none", "factors": {"maps": 0}},
    ]
    said = {"seed": 3, "source": [{"name": n, "folder": f"a/{n} é"} for n in ("train", "val")], "study": {"arms": arms}}
    write_study(tmp_path / "new", said, ['design.mined=["val"]'])
    settings = read_settings(tmp_path / "new")
    assert settings.seed == 3
    assert [str(source.folder) for source in settings.source] == ["a/train é", "a/val é"]
    assert settings.design.mined == ("val",)
    assert settings.study.arms[0].factors == {"maps": 1}
    with pytest.raises(BadStudy, match="there already"):
        write_study(tmp_path / "new", {})


def test_settings_cannot_change():
    with pytest.raises(ValueError, match="frozen"):
        Settings().seed = 1
