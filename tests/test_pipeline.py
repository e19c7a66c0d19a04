"""A run: what it makes, what it makes anew and what not, and what becomes of it when it is stopped, doubled or starved."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from PIL import Image

from bayesteach.errors import BadSettings, BadStudy
from bayesteach.pipeline import STAGES, Run
from bayesteach.settings import Settings, validated
from bayesteach.store.workspace import Workspace
from tests import small_study
from tests.small_study import make
from tests.store.test_codecs import bytes_below

ROOT = Path(__file__).parent.parent


@pytest.fixture
def study(finished, tmp_path) -> Path:
    """A copy of the finished study, to do things to."""
    return Path(shutil.copytree(finished, tmp_path / "study"))


def remade(folder: Path, settings: Settings | None = None, **more: object) -> list[str]:
    return [name for name, made in make(folder, settings, **more).items() if not made.fresh]


def artifacts(folder: Path) -> dict[str, bytes]:
    """All but the seconds that it took."""
    found = bytes_below(folder / "artifacts")
    for name in [name for name in found if name.endswith("manifest.json")]:
        facts = json.loads(found[name]) | {"seconds": 0}
        found[name] = json.dumps(facts).encode()
    return found


def units(folder: Path) -> dict[str, int]:
    """Every finished unit of work, and when it was written."""
    return {
        str(file.relative_to(folder)): file.stat().st_mtime_ns
        for file in (folder / "units").glob("*/*/[!.]*.safetensors")
    }


def test_a_run_makes_every_stage_and_a_second_one_none(study):
    assert {stage.name for stage in STAGES} == {place.name for place in (study / "artifacts").iterdir()}
    before = artifacts(study)
    assert remade(study) == []
    assert artifacts(study) == before


def test_another_run_elsewhere_gives_the_same_bytes(images, finished, tmp_path):
    again = Path(shutil.copytree(images, tmp_path / "again"))
    make(again)
    assert artifacts(again) == artifacts(finished)


def test_only_what_depends_on_a_setting_is_made_again(study):
    assert remade(study, small_study.settings(compose={"size": 96})) == ["compose"]
    assert remade(study, small_study.settings(compose={"size": 96}, teach={"candidates": 30}))[0] == "teach"


def test_a_stage_whose_inputs_came_out_the_same_is_left_alone(study):
    assert remade(study, remake=("design",)) == ["design"]


def test_until_stops_there(images, tmp_path):
    folder = Path(shutil.copytree(images, tmp_path / "part"))
    make(folder, until="embed")
    assert {place.name for place in (folder / "artifacts").iterdir()} == {"collect", "embed"}


def test_a_new_image_is_embedded_alone(study):
    before = units(study)
    extra = small_study.picture("red", __import__("numpy").random.default_rng(99))
    extra.save(study / "images" / "train" / "red" / "new.png")
    assert {"collect", "embed"} <= set(remade(study))
    kept = {name: time for name, time in units(study).items() if name in before}
    assert kept == before


def test_discarding_a_trial_redoes_nothing_else(study):
    trial = Run(Workspace(study), small_study.settings()).workspace.load("design", STAGES[3].output).trials[0].trial
    (study / "exclude.csv").write_text(f"trial\n{trial}\n")
    assert remade(study) == ["compose"]
    gone = Workspace(study).load("compose", STAGES[6].output).stimuli
    assert trial not in [hidden.covariates["design_trial"] for hidden in gone.hidden]
    # Ticking another in the new gallery keeps the first.
    assert f'const before = ["{trial}"];' in (study / "artifacts" / "compose" / "gallery.html").read_text("utf-8")
    (study / "exclude.csv").unlink()
    assert remade(study) == ["compose"]


def test_the_engine_and_the_weights_enter_the_key(study):
    other = small_study.settings(model={"precision": "bf16"})
    states = {made.stage.name: made for made in Run(Workspace(study), other).status()}
    assert states["collect"].fresh
    assert not states["highlight"].fresh


def test_status_names_what_is_stale_and_why(study):
    states = {m.stage.name: m for m in Run(Workspace(study), small_study.settings(teach={"candidates": 30})).status()}
    assert states["design"].fresh
    assert "teach" in states["teach"].reason
    assert states["compose"].reason
    shutil.rmtree(study / "artifacts" / "embed")
    states = {m.stage.name: m for m in Run(Workspace(study), small_study.settings()).status()}
    assert states["embed"].reason == "not made yet"
    assert not states["fit"].fresh


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (
            lambda folder: (folder / "trials.parquet").write_bytes(b"PAR1"),
            ["trials.parquet has changed", "--remake design"],
        ),
        (lambda folder: (folder / "trials.parquet").unlink(), ["trials.parquet is missing"]),
        (lambda folder: (folder / "notes.txt").write_text("hello"), ["notes.txt does not belong"]),
        (lambda folder: (folder / "manifest.json").write_text("{"), ["no readable manifest.json", "not an artifact"]),
    ],
)
def test_a_corrupted_or_foreign_artifact_is_named_and_remade_only_when_asked(harm, words, study, finished):
    harm(study / "artifacts" / "design")
    harmed = bytes_below(study / "artifacts" / "design")
    with pytest.raises(BadStudy) as refused:
        make(study)
    for word in [str(study / "artifacts" / "design"), *words]:
        assert word in str(refused.value)
    assert bytes_below(study / "artifacts" / "design") == harmed
    assert remade(study, remake=("design",)) == ["design"]
    assert artifacts(study) == artifacts(finished)


def test_the_artifact_of_another_stage_is_foreign(study):
    shutil.rmtree(study / "artifacts" / "design")
    shutil.copytree(study / "artifacts" / "teach", study / "artifacts" / "design")
    with pytest.raises(BadStudy, match="artifact of the stage 'teach'"):
        make(study)


def test_an_unknown_stage_is_refused(study):
    with pytest.raises(BadSettings, match="collect, embed"):
        make(study, until="paint")


def test_two_runs_in_one_folder_the_second_is_refused(study):
    with Workspace(study).alone():
        done = command("run", study)
    assert done.returncode == 2
    assert "another run is at work" in done.stderr
    assert command("run", study).returncode == 0


def command(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bayesteach", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )


def killed_once(folder: Path, seen: str) -> bool:
    """Start a run, kill it when a path of this pattern is there, and say whether that was in time."""
    started = subprocess.Popen(
        [sys.executable, "-m", "bayesteach", "run", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        end = time.monotonic() + 120
        while started.poll() is None and not list(folder.glob(seen)) and time.monotonic() < end:
            time.sleep(0.002)
        early = started.poll() is None
        started.send_signal(signal.SIGKILL)
    finally:
        started.communicate()
    return early


@pytest.mark.parametrize("seen", ["units/features/*/*", "units/maps/*/*"])
def test_killed_and_run_again_it_ends_the_same_without_redoing_finished_units(seen, images, finished, tmp_path):
    folder = Path(shutil.copytree(images, tmp_path / "killed"))
    assert killed_once(folder, seen)
    before = units(folder)
    assert before
    # Whatever the moment of the death was, this is what it may leave of a unit.
    (next((folder / "units").glob("*/*")) / ".unfinished-by-somebody.safetensors").write_bytes(b"half")
    make(folder)
    assert artifacts(folder) == artifacts(finished)
    assert {name: units(folder)[name] for name in before} == before
    assert not list((folder / "artifacts").glob(".unfinished*"))
    assert not list((folder / "units").glob("*/*/.unfinished*"))


@pytest.mark.verify
def test_killed_at_many_moments(images, finished, tmp_path):
    """Whatever the moment: twenty kills of one study, each a little later, then an end like any other."""
    folder = Path(shutil.copytree(images, tmp_path / "killed"))
    for step in range(20):
        started = subprocess.Popen(
            [sys.executable, "-m", "bayesteach", "run", str(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
        )
        time.sleep(3 + 0.4 * step)
        started.send_signal(signal.SIGKILL)
        started.wait()
    make(folder)
    assert artifacts(folder) == artifacts(finished)


def test_a_full_disk_leaves_what_was_whole(images, finished, tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    need = sum(file.stat().st_size for file in finished.rglob("*") if file.is_file())
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={int(need * 0.8) // 4096 * 4096}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"no small disk could be mounted: {mounted.stderr.decode()}")
        pytest.skip("mounting a small disk needs root")
    try:
        shutil.copytree(images, folder / "study")
        done = command("run", folder / "study")
        assert done.returncode == 2, done.stdout + done.stderr
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        whole = [place for place in (folder / "study" / "artifacts").iterdir() if not place.name.startswith(".")]
        assert whole
        for place in whole:
            own = {
                name: data for name, data in artifacts(folder / "study").items() if name.startswith(f"{place.name}/")
            }
            assert own == {
                name: data for name, data in artifacts(finished).items() if name.startswith(f"{place.name}/")
            }
        subprocess.run(["mount", "-o", "remount,size=200m", str(folder)], check=True)
        make(folder / "study")
        assert artifacts(folder / "study") == artifacts(finished)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_an_image_that_changed_is_noticed(study):
    changed = next((study / "images" / "val" / "red").iterdir())
    Image.new("RGB", (64, 64), "red").save(changed)
    assert "collect" in remade(study)


def test_what_the_classifier_answers_is_its_own_fp32(study):
    """Probes and pool go through the network as it is, whatever the engine."""
    from bayesteach import Classifier, open_photo  # noqa: PLC0415

    classifier = Classifier.load(
        "timm:test_resnet", checkpoint=study / "small.safetensors", labels=study / "labels.txt"
    )
    workspace = Workspace(study)
    collected = workspace.load("collect", STAGES[0].output)
    features = workspace.load("embed", STAGES[1].output)
    for seen in features.seen[::40]:
        pixels = classifier.pixels(open_photo(study / collected.entries[seen.id].path))
        own = classifier.probabilities(pixels[None])[0]
        assert seen.answer == int(own.argmax())
        assert seen.confidence == pytest.approx(float(own.max()), abs=1e-5)
        torch.testing.assert_close(
            features.of([seen.id])[0], classifier.features(pixels[None])[0], rtol=1e-4, atol=1e-4
        )


def test_the_papers_preset_runs_to_its_end(images, tmp_path):
    """Every way of the paper in small: squashed photos, a refitted head, the first lesson past the threshold, seen in views."""
    folder = Path(shutil.copytree(images, tmp_path / "paper"))
    told = validated(
        {
            **small_study.SAID,
            "preset": "paper",
            "fit": {"refit_views": 1, "images": 500, "shrinkage": 0.5},
            "teach": {"views": 2, "candidates": 8, "threshold": 0.2},
            "highlight": {"masks": 8},
        },
        "test",
    )
    made = make(folder, told)
    lessons = Workspace(folder).load("teach", STAGES[4].output)
    assert lessons.lessons
    assert all(row.posterior > 0.2 for row in lessons.lessons)
    assert {"features", "views", "maps"} <= {place.name for place in (folder / "units").iterdir()}
    before = units(folder)
    assert made["fit"].manifest is not None
    make(folder, told, remake=("fit", "teach"))
    assert units(folder) == before
