"""Which images there are: digests, copies that a digest does not see, and what is no image."""

import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from bayesteach.errors import BadImage, BadStudy, Empty
from bayesteach.pipeline import BY_NAME
from bayesteach.settings import validated
from bayesteach.store.workspace import Workspace
from tests import small_study
from tests.small_study import make


@pytest.fixture
def study(images, tmp_path) -> Path:
    return Path(shutil.copytree(images, tmp_path / "study"))


def load(folder: Path, stage: str):
    return Workspace(folder).load(stage, BY_NAME[stage].output)


def test_near_copies_of_probes_are_found_and_kept_out_of_the_pool(study):
    """Every adversarial image lies in the training set too, saved anew as JPEG: none of its copies becomes an example."""
    for picture in sorted((study / "images" / "adversarial").rglob("*.png")):
        copy = study / "images" / "train" / picture.parent.name / f"copy-{picture.stem}.jpg"
        Image.open(picture).save(copy, quality=90)
    make(study, until="design")
    collected, trials = load(study, "collect"), load(study, "design")
    paths = {entry.id: entry.path for entry in collected.images}
    copied = {frozenset((paths[pair.id], paths[pair.other])) for pair in collected.near_copies}
    assert frozenset(("images/adversarial/red/000.png", "images/train/red/copy-000.jpg")) in copied
    assert "pairs of near-copies" in collected.summary
    pool = {paths[seen.id] for seen in trials.pool}
    probes = [paths[trial.probe] for trial in trials.trials if trial.source == "adversarial"]
    assert probes
    for probe in probes:
        place = Path(probe)
        assert f"images/train/{place.parent.name}/copy-{place.stem}.jpg" not in pool
    assert any("copy-" in path for path in pool), "copies of images that are no probes may be examples"


def test_looking_for_near_copies_can_be_left_out(study):
    make(study, small_study.settings(collect={"near_copies": -1}), until="collect")
    assert load(study, "collect").near_copies == ()


def test_the_same_image_in_two_sources_counts_once(study):
    for number in range(3):
        shutil.copy(
            study / "images" / "val" / "red" / f"{number:03}.png",
            study / "images" / "train" / "red" / f"again{number}.png",
        )
    make(study, until="collect")
    found = load(study, "collect").images
    assert len({entry.id for entry in found}) == len(found)
    # As it came first: the sources stand in the order of study.toml, and train is before val.
    assert sum(entry.split == "train" for entry in found if entry.label == 0) == 15


def test_a_source_may_be_a_table(study):
    rows = [f"images/val/{label}/{n:03}.png,{label}" for label in small_study.CLASSES for n in range(12)]
    (study / "val.csv").write_text("path,label\n" + "\n".join(rows))
    told = {
        **small_study.SAID,
        "source": [
            {"name": "train", "folder": "images/train"},
            {"name": "val", "csv": "val.csv"},
            {"name": "adversarial", "folder": "images/adversarial"},
        ],
    }
    make(study, validated(told, "test"), until="design")
    assert {trial.source for trial in load(study, "design").trials} == {"val", "adversarial"}


def test_a_study_without_images_and_one_of_unknown_classes_are_refused(study):
    with pytest.raises(Empty, match=r"\[\[source\]\]"):
        make(study, validated({**small_study.SAID, "source": [], "design": {}}, "test"))
    (study / "images" / "val" / "red").rename(study / "images" / "val" / "crimson")
    with pytest.raises(BadImage, match="crimson"):
        make(study)


def test_what_cannot_be_read_may_be_an_error(study):
    victim = study / "images" / "val" / "red" / "000.png"
    victim.unlink()
    victim.symlink_to("nowhere")
    make(study, until="collect")
    assert "could not be read" in load(study, "collect").summary
    with pytest.raises(BadImage, match="000.png"):
        make(study, small_study.settings(collect={"strict": True}))


def test_an_image_that_changed_after_it_was_collected_is_refused(study):
    """Its digest is its name, so a map of another picture cannot come under it."""
    make(study, until="teach")
    (name, *_) = (row.trial for row in load(study, "teach").lessons)
    (identity,) = (trial.probe for trial in load(study, "design").trials if trial.trial == name)
    probe = study / load(study, "collect").entries[identity].path
    state = probe.stat()
    changed = bytearray(probe.read_bytes())
    changed[-20] ^= 1
    probe.write_bytes(changed)
    os.utime(probe, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises((BadImage, BadStudy), match="has changed since it was collected"):
        make(study)
