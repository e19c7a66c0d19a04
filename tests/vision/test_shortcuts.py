"""The drawn world: what is drawn, where, and how it is written. What its network makes of it is the other file's."""

import csv
from hashlib import sha256
from itertools import islice

import numpy as np
import pytest
from PIL import Image

from bayesteach.errors import BadInput, OutOfRange
from bayesteach.vision.images import ImageSet
from bayesteach.vision.shortcuts import LABELS, Place, drawing, look, picture, places, world, write_world
from bayesteach.vision.shortcuts.backgrounds import BACKGROUNDS
from bayesteach.vision.shortcuts.categories import CATEGORIES, Category
from bayesteach.vision.shortcuts.training import RECIPE
from bayesteach.vision.shortcuts.workers import spread

WHOLE = np.eye(2) * 50, np.array([64.0, 64.0])


def same(one: world.Sight, other: world.Sight) -> bool:
    return all(np.array_equal(getattr(one.picture, name), getattr(other.picture, name)) for name in ("pixels", "mask"))


def coverage(*strokes: drawing.Stroke) -> float:
    """The area of strokes, in units of their own."""
    return float(drawing.rasterise(strokes, *WHOLE, 128)[..., 3].sum()) / 50**2


def test_strokes_cover_what_they_should():
    assert coverage(drawing.ellipse("#fff", 0, 0, 0.8, 0.5)) == pytest.approx(np.pi * 0.4, rel=0.02)
    assert coverage(drawing.box("#fff", -0.5, -0.3, 0.5, 0.7)) == pytest.approx(1, rel=0.02)
    assert coverage(drawing.box("#fff", -0.5, -0.5, 0.5, 0.5, 0.2)) == pytest.approx(1 - (4 - np.pi) * 0.04, rel=0.02)
    assert coverage(drawing.pie("#fff", 0, 0, 0.8, 0.8, 0, 180)) == pytest.approx(np.pi * 0.32, rel=0.02)
    assert coverage(drawing.line("#fff", 0.2, (-0.5, 0), (0.5, 0))) == pytest.approx(0.2 + np.pi * 0.01, rel=0.05)
    assert coverage(drawing.ellipse("#fff", 0, 0, 0.8), drawing.ellipse(None, 0, 0, 0.5)) == pytest.approx(
        np.pi * 0.39, rel=0.02
    )
    assert coverage() == 0


def test_a_symmetric_outline_is_its_own_mirror_image():
    half = drawing.symmetric("#fff", (0, -0.9), (0.6, -0.2), (0.3, 0.8))
    opacity = drawing.rasterise([half], *WHOLE, 128)[..., 3]
    assert opacity.sum() > 1000
    assert np.abs(opacity - opacity[:, ::-1]).mean() < 0.01


def test_colours():
    assert drawing.tint("#808080", 1) == (255, 255, 255)
    assert drawing.tint((100, 50, 0), -0.5) == (50, 25, 0)
    found = np.array([drawing.paint(np.random.default_rng(seed), "#ff0000", "#0000ff") for seed in range(200)])
    red = found[:, 0] > 128
    assert 60 < red.sum() < 140
    assert (found[red, 2] < 100).all()


def test_there_are_enough_categories_three_to_a_home():
    homes = [kind.home for kind in CATEGORIES.values()]
    assert len(LABELS) >= 33
    assert set(homes) == set(BACKGROUNDS)
    assert len(BACKGROUNDS) >= 10
    assert {homes.count(home) for home in BACKGROUNDS} == {3}


@pytest.mark.parametrize("label", LABELS)
def test_things_fill_their_square_and_do_not_leave_it(label):
    shapes = set()
    for seed in range(30):
        strokes = CATEGORIES[label].strokes(np.random.default_rng(seed))
        outermost = np.concatenate([stroke.points for stroke in strokes if stroke.colour is not None])
        assert np.abs(outermost).max() < 1.15
        assert np.ptp(outermost, 0).max() > 1.5
        shapes.add(np.concatenate([stroke.points for stroke in strokes]).tobytes())
    assert len(shapes) > 15


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_backgrounds_are_textures_each_its_own(name):
    one, other = (BACKGROUNDS[name](np.random.default_rng(seed), 128) for seed in (0, 1))
    assert one.shape == (128, 128, 3)
    assert -0.3 < one.min() < one.max() < 1.3
    assert one.std() > 0.02
    assert np.abs(one - other).mean() > 0.02


def test_a_place_always_holds_the_same_picture_and_no_other_place_does():
    here = Place("standard", "fish", 3, seed=1)
    assert same(look(here), look(here))
    others = [
        Place("standard", "fish", 4, seed=1),
        Place("standard", "fish", 3, seed=2),
        Place("train", "fish", 3, seed=1),
        Place("standard", "boat", 3, seed=1),
    ]
    assert not any(same(look(here), look(other)) for other in others)


def test_all_processors_draw_what_one_does_in_order():
    where = places("adversarial", 2, seed=5)
    together = list(spread(look, where))
    assert [sight.place for sight in together] == where
    assert all(same(sight, look(sight.place)) for sight in islice(together, 0, None, 7))


def test_training_and_standard_pictures_show_their_category_at_home_most_of_the_time():
    for split in ("train", "standard"):
        where = places(split, 100)
        at_home = np.mean([world.background(place) == CATEGORIES[place.category].home for place in where])
        # Five standard errors of 3,600.
        assert at_home == pytest.approx(world.AT_HOME, abs=0.017)


def test_adversarial_pictures_show_the_home_of_other_categories_each_as_often():
    where = places("adversarial", 110)
    found = [(place.category, world.background(place)) for place in where]
    assert not any(background == CATEGORIES[category].home for category, background in found)
    counts = np.array([sum(shown == home for _, shown in found) for home in BACKGROUNDS])
    assert counts.min() > 0.8 * counts.mean()
    assert all(len({shown for category, shown in found if category == label}) == 11 for label in LABELS)


def test_the_mask_is_where_the_thing_is(monkeypatch):
    red = Category(lambda rng: [drawing.ellipse("#ff0000", 0, 0, 0.9)], "grass")
    monkeypatch.setitem(CATEGORIES, "fish", red)
    for hard in (0.0, 1.0):
        monkeypatch.setattr(picture, "HARD", hard)
        monkeypatch.setattr(picture, "WAYS", ("far", "hidden", "turned"))
        for seed in range(8):
            drawn = picture.draw("fish", "grass", np.random.default_rng(seed))
            r, g, b = np.moveaxis(drawn.pixels.astype(int), -1, 0)
            thing, behind = drawn.mask == 255, drawn.mask == 0
            assert thing.sum() > 200
            assert (r[thing] > 2 * np.maximum(g, b)[thing]).all()
            assert (r[behind] < 1.7 * g[behind] + 10).mean() > 0.99


def test_hazy_things_are_still_marked(monkeypatch):
    monkeypatch.setattr(picture, "HARD", 1.0)
    monkeypatch.setattr(picture, "WAYS", ("hazy",))
    hazy = picture.draw("moon", "night", np.random.default_rng(0))
    assert hazy.mask.max() == 255


@pytest.mark.parametrize("label", LABELS)
def test_masks_are_of_the_size_of_things(label):
    shares = [look(place).picture.mask.mean() / 255 for place in places("standard", 8, categories=[label])]
    assert 0.005 < min(shares) < max(shares) < 0.6
    assert max(shares) > 0.04


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world") / "images"
    write_world(folder, train=2, standard=1, adversarial=1)
    return folder


def test_the_written_world_is_read_as_any_other_set(written):
    for split, each in (("train", 2), ("val", 1), ("adversarial", 1)):
        images = ImageSet.from_folder(written / split, LABELS.index)
        assert len(images) == each * len(LABELS)
        assert not images.disputed
        assert {entry.label for entry in images} == set(range(len(LABELS)))
    assert sorted(path.name for path in written.iterdir()) == ["adversarial", "images.csv", "masks", "train", "val"]


def test_the_written_world_is_what_is_to_be_seen(written):
    for split, folder in (("train", "train"), ("standard", "val"), ("adversarial", "adversarial")):
        place = places(split, 1)[7]
        sight = look(place)
        path = f"{folder}/{place.category}/0000.png"
        assert np.array_equal(np.asarray(Image.open(written / path)), sight.picture.pixels)
        assert np.array_equal(np.asarray(Image.open(written / "masks" / path)), sight.picture.mask)


def test_the_table_says_what_is_where(written):
    images = ImageSet.from_csv(written / "images.csv", LABELS.index)
    assert len(images) == 4 * len(LABELS)
    assert {entry.split for entry in images} == {"train", "val", "adversarial"}
    rows = list(csv.DictReader((written / "images.csv").read_text().splitlines()))
    adversarial = [row for row in rows if row["split"] == "adversarial"]
    assert len(adversarial) == len(LABELS)
    assert all(row["background"] != CATEGORIES[row["label"]].home for row in adversarial)


def contents(folder):
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_seed_writes_the_same_bytes_and_another_other_probes(written, tmp_path):
    write_world(tmp_path / "again", train=2, standard=1, adversarial=1)
    assert contents(tmp_path / "again") == contents(written)
    write_world(tmp_path / "other", seed=1, train=1, standard=1, adversarial=1)
    one, other = contents(written), contents(tmp_path / "other")
    assert other.keys() < one.keys()
    # Training images are those that the network saw, whatever the seed.
    assert all(one[path] == other[path] for path in other if path.startswith("train/"))
    assert not any(one[path] == other[path] for path in other if path.startswith(("val/", "adversarial/")))


def test_no_probe_is_a_training_image():
    digests = [
        {sha256(look(place).picture.pixels.tobytes()).hexdigest() for place in places(split, 20, categories=["owl"])}
        for split in world.SPLITS
    ]
    assert len(set().union(*digests)) == 60


def test_what_stops_halfway_leaves_nothing(tmp_path):
    def stops(jobs):
        yield from islice(jobs, 50)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_world(tmp_path / "world", train=1, standard=1, adversarial=1, progress=stops)
    assert list(tmp_path.iterdir()) == []


def test_progress_sees_every_image(tmp_path):
    seen = []

    def watch(jobs):
        for job in jobs:
            yield job
            seen.append(job)

    write_world(tmp_path / "new" / "world", train=0, standard=1, adversarial=1, progress=watch)
    assert len(seen) == 2 * len(LABELS)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="is there already"):
        write_world(tmp_path, train=1, standard=1, adversarial=1)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_no_more_training_images_than_the_network_saw(tmp_path):
    with pytest.raises(OutOfRange, match=f"train: found {RECIPE.each + 1}, expected 0 to {RECIPE.each}"):
        write_world(tmp_path / "world", train=RECIPE.each + 1)
