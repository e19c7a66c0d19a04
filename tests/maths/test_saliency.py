"""The streaming expected mask against the plain formula, and its error against repetition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach import BadInput, ExpectedMask
from tests.oracles import doubles

SIZE = (3, 4)


def some(n: int, rng: torch.Generator, classes: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    return doubles(n, *SIZE, rng=rng).sigmoid(), 0.7 * doubles(n, classes, rng=rng)


def plain(masks: torch.Tensor, log_weights: torch.Tensor) -> torch.Tensor:
    weights = log_weights.exp()
    return torch.einsum("nc,nhw->chw", weights, masks) / weights.sum(0)[:, None, None]


@given(st.integers(2, 30), st.integers(1, 10), st.integers(0, 99))
def test_any_stream_gives_the_plain_average(n, batch, seed):
    masks, log_weights = some(n, torch.Generator().manual_seed(seed))
    whole = ExpectedMask(2, SIZE).add(masks, log_weights)
    stream = ExpectedMask(2, SIZE)
    for m, w in zip(masks.split(batch), log_weights.split(batch), strict=True):
        stream.add(m, w)
    torch.testing.assert_close(whole.map, plain(masks, log_weights))
    for name in ("map", "standard_error", "effective_samples"):
        torch.testing.assert_close(getattr(stream, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    assert stream.count == n


@given(st.integers(1, 10), st.integers(1, 10), st.booleans(), st.integers(0, 99))
def test_merging_two_equals_adding_all(n, k, replicated, seed):
    rng = torch.Generator().manual_seed(seed)
    parts = [some(n, rng), some(k, rng), some(3, rng)]
    names = [0, 1, 1] if replicated else [None] * 3

    def added(*which: int) -> ExpectedMask:
        result = ExpectedMask(2, SIZE)
        for i in which:
            result.add(*parts[i], replicate=names[i])
        for extra in range(2, 9):
            if replicated and 0 in which:
                result.add(*parts[0], replicate=extra)
        return result

    merged, whole = added(0) + added(1, 2), added(0, 1, 2)
    for name in ("map", "standard_error", "effective_samples"):
        torch.testing.assert_close(getattr(merged, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    assert merged.count == whole.count


@given(st.floats(-1e4, 1e4), st.integers(0, 99))
def test_only_the_ratios_of_weights_matter(shift, seed):
    masks, log_weights = some(9, torch.Generator().manual_seed(seed))
    here, there = ExpectedMask(2, SIZE).add(masks, log_weights), ExpectedMask(2, SIZE).add(masks, log_weights + shift)
    torch.testing.assert_close(here.map, there.map, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(here.effective_samples, there.effective_samples, rtol=1e-7, atol=1e-9)


def test_weights_that_underflow_in_float32_count(rng):
    masks, log_weights = some(20, rng)
    log_weights -= 500
    assert (log_weights.float().exp() == 0).all()
    torch.testing.assert_close(
        ExpectedMask(2, SIZE).add(masks.float(), log_weights.float()).map,
        plain(masks, log_weights + 500),
        atol=1e-5,
        rtol=0,
    )


def test_uniform_weights_give_the_textbook_error(rng):
    masks, _ = some(50, rng)
    found = ExpectedMask(1, SIZE).add(masks, torch.zeros(50, 1))
    torch.testing.assert_close(found.standard_error[0], masks.std(0) / 50**0.5)
    assert float(found.effective_samples) == pytest.approx(50)


def repeated(studies: int, add) -> tuple[torch.Tensor, torch.Tensor]:
    """The maps of many studies, and the standard errors that they stated."""
    found = []
    for study in range(studies):
        running = ExpectedMask(1, SIZE)
        add(running, torch.Generator().manual_seed(study))
        found.append((running.map[0], running.standard_error[0]))
    return tuple(torch.stack(column) for column in zip(*found, strict=True))


def correlated(n: int, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Masks and weights that depend on each other, as in life."""
    masks, log_weights = some(n, rng, classes=1)
    return masks, log_weights + 2 * masks[:, 0, :1]


def test_the_stated_error_is_the_error_of_independent_masks():
    maps, errors = repeated(300, lambda running, rng: running.add(*correlated(200, rng)))
    torch.testing.assert_close(errors.square().mean(0).sqrt(), maps.std(0), rtol=0.2, atol=0)


def test_the_stated_error_is_the_error_between_replicates():
    def add(running: ExpectedMask, rng: torch.Generator) -> None:
        for replicate in range(12):
            masks, log_weights = correlated(10, rng)
            # Every mask five times: as independent masks they would understate their error by √5.
            running.add(masks.repeat(5, 1, 1), log_weights.repeat(5, 1), replicate)

    maps, errors = repeated(300, add)
    torch.testing.assert_close(errors.square().mean(0).sqrt(), maps.std(0), rtol=0.25, atol=0)


def test_fewer_than_eight_replicates_are_refused(rng):
    running = ExpectedMask(2, SIZE)
    for replicate in range(7):
        running.add(*some(4, rng), replicate)
    with pytest.raises(BadInput, match="7 replicates, expected at least 8"):
        _ = running.standard_error
    assert running.map.isfinite().all()
    assert running.add(*some(4, rng), 7).standard_error.isfinite().all()


def test_one_mask_says_nothing_of_its_error(rng):
    assert (ExpectedMask(2, SIZE).add(*some(1, rng)).standard_error == torch.inf).all()


def test_masks_that_show_nothing_weigh_nothing(rng):
    masks, log_weights = some(10, rng)
    log_weights[3] = -torch.inf
    rest = [i for i in range(10) if i != 3]
    found = ExpectedMask(2, SIZE).add(masks[3:4], log_weights[3:4]).add(masks[rest], log_weights[rest])
    torch.testing.assert_close(found.map, plain(masks[rest], log_weights[rest]))
