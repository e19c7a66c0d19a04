"""Insertion and deletion beside a plain loop, and on maps known to be good and bad."""

import pytest
import torch
from PIL import Image
from scipy.integrate import trapezoid

from bayesteach.explain.faithfulness import _blurred, area, faithfulness
from bayesteach.vision.engines import make_engine, plain_engine
from tests.explain.discs import SIZE, classifier
from tests.explain.test_explanation import photo


def by_hand(who, pixels, importance, target, first, last):
    """One pixel row's worth at a time, one image at a time."""
    order = sorted(range(SIZE * SIZE), key=lambda i: (-float(importance.flatten()[i]), i))
    now, curve = first.clone().flatten(1), []
    for step in range(SIZE + 1):
        curve.append(float(who.probabilities(now.view(1, 3, SIZE, SIZE))[0, target]))
        some = order[step * SIZE : (step + 1) * SIZE]
        now[:, some] = last.flatten(1)[:, some]
    return curve


def test_it_is_the_plain_loop(rng):
    who = classifier()
    pixels, importance = who.pixels(photo()), torch.rand(SIZE, SIZE, generator=rng).round(decimals=1)
    found = faithfulness(plain_engine(who), pixels, importance, 0)
    blurred, faded = _blurred(pixels, who.mean), torch.tensor(who.mean)[:, None, None].expand_as(pixels)
    assert found.insertion.tolist() == pytest.approx(by_hand(who, pixels, importance, 0, blurred, pixels), abs=1e-5)
    assert found.deletion.tolist() == pytest.approx(by_hand(who, pixels, importance, 0, pixels, faded), abs=1e-5)
    assert found.shares[0] == 0
    assert found.shares[-1] == 1


def test_several_rows_at_a_time_are_every_so_many_th_step(rng):
    who = classifier()
    pixels, importance = who.pixels(photo()), torch.rand(SIZE, SIZE, generator=rng)
    fine, coarse = (faithfulness(plain_engine(who), pixels, importance, 0, rows=rows) for rows in (1, 4))
    torch.testing.assert_close(coarse.insertion, fine.insertion[::4])
    torch.testing.assert_close(coarse.deletion, fine.deletion[::4])
    assert coarse.shares[-1] == 1


def test_areas_are_those_of_the_trapezium_rule(rng):
    curve = torch.rand(30, generator=rng)
    assert area(curve) == pytest.approx(trapezoid(curve.numpy(), dx=1 / 29), rel=1e-6)


def test_a_map_of_the_thing_is_more_faithful_than_its_reverse():
    who = classifier()
    pixels = who.pixels(photo())
    good = (pixels[0] - pixels[1]).clamp_min(0)
    right, wrong = (faithfulness(make_engine(who), pixels, m, 0) for m in (good, -good))
    assert right.insertion_auc > wrong.insertion_auc
    assert right.deletion_auc < wrong.deletion_auc


def test_the_blur_is_the_published_one(rng):
    """An 11 × 11 kernel that sums to one: a constant image stays, but for the edge, which the mean colour enters."""
    constant = torch.full((3, SIZE, SIZE), 0.7)
    blurred = _blurred(constant, (0.5, 0.5, 0.5))
    torch.testing.assert_close(blurred[:, 5:-5, 5:-5], constant[:, 5:-5, 5:-5])
    assert float(blurred[0, 0, 0]) < 0.65


def test_curves_are_written_and_drawn(tmp_path):
    who = classifier()
    pixels = who.pixels(photo())
    found = faithfulness(plain_engine(who), pixels, pixels[0], 0)
    found.save(tmp_path / "new", "red thing")
    rows = (tmp_path / "new" / "faithfulness.csv").read_text().splitlines()
    assert rows[0] == "share,insertion,deletion"
    assert len(rows) == 1 + SIZE + 1
    with Image.open(tmp_path / "new" / "faithfulness.png") as picture:
        assert picture.width == 750
