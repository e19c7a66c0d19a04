"""Masks against the dense Gaussian process."""

import tracemalloc

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach import MaskPrior
from bayesteach.maths import masks as module
from tests import oracles


def field(masks: torch.Tensor) -> torch.Tensor:
    """g from σ(g)."""
    return masks.double().logit().flatten(1)


def small(**changes) -> MaskPrior:
    # A milder field than the paper's, so that σ can be undone.
    return MaskPrior(**{"size": 12, "length_scale": 3.0, "mean": -1.0, "sd": 2.0, "dtype": torch.float64, **changes})


def test_the_defaults_are_the_papers():
    prior = MaskPrior()
    assert (prior.size, prior.length_scale, prior.mean, prior.sd) == (224, 22.4, -100.0, 100.0)
    assert prior.latent_size[0] <= 20
    assert prior.mean_mask == pytest.approx(0.159, abs=5e-4)
    assert prior.sample(2, torch.Generator().manual_seed(0)).shape == (2, 224, 224)


def test_the_factors_rebuild_the_dense_kernel():
    prior = small()
    low_rank = prior.sd**2 * torch.kron(prior.row_factor @ prior.row_factor.mT, prior.col_factor @ prior.col_factor.mT)
    dense = oracles.gaussian_process(12, 3.0, 2.0)
    assert float((dense - low_rank).trace() / dense.trace()) <= 1e-6
    torch.testing.assert_close(low_rank, dense, atol=4e-3, rtol=0)


@given(st.integers(1, 60), st.floats(0.05, 100))
def test_the_rank_leaves_out_no_more_than_it_may_and_no_column_is_idle(side, length_scale):
    prior = MaskPrior(side, length_scale, dtype=torch.float64)
    kept = prior.row_factor.square().sum() / side
    assert 1 - float(kept) ** 2 <= module.LEFT_OUT
    if prior.latent_size[0] > 1:
        assert 1 - float(prior.row_factor[:, :-1].square().sum() / side) > module.LEFT_OUT / 2


def test_samples_have_the_moments_of_the_dense_process(rng):
    prior = small()
    g = field(prior.sample(20_000, rng))
    dense = oracles.gaussian_process(12, 3.0, 2.0)
    error = (dense.diagonal()[:, None] * dense.diagonal() + dense**2).sqrt() / 20_000**0.5
    assert ((g.T.cov() - dense).abs() < 6 * error).all()
    assert ((g.mean(0) + 1).abs() < 5 * 2 / 20_000**0.5).all()


def test_the_mean_mask_is_the_mean_of_masks(rng):
    prior = MaskPrior(32, 3.2)
    masks = prior.sample(4000, rng)
    assert float(masks.mean()) == pytest.approx(prior.mean_mask, abs=0.005)


def test_sobol_masks_have_the_same_moments_and_less_noise():
    prior = small()
    means = {name: [] for name in ("independent", "sobol")}
    for seed in range(16):
        rng = torch.Generator().manual_seed(seed)
        means["independent"].append(field(prior.sample(256, rng)).mean(0))
        means["sobol"].append(field(prior.sample_sobol(256, seed)).mean(0))
    off = {name: float((torch.stack(rows) + 1).square().mean().sqrt()) for name, rows in means.items()}
    assert off["sobol"] < off["independent"] / 2
    g = field(prior.sample_sobol(4096, 0))
    dense = oracles.gaussian_process(12, 3.0, 2.0)
    assert (g.T.cov() - dense).abs().max() < 0.3


def test_a_seed_gives_the_same_masks_and_another_gives_others(rng):
    prior = small()
    torch.testing.assert_close(prior.sample_sobol(8, 3), prior.sample_sobol(8, 3))
    assert not torch.allclose(prior.sample_sobol(8, 3), prior.sample_sobol(8, 4))
    one, same, other = (prior.sample(3, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    torch.testing.assert_close(one, same)
    assert not torch.allclose(one, other)


@given(st.integers(1, 30), st.integers(1, 12))
def test_a_stream_is_the_sample_in_batches(n, batch):
    prior = small()
    rngs = [torch.Generator().manual_seed(0) for _ in range(2)]
    parts = list(prior.stream(n, rngs[0], batch))
    assert [len(p) for p in parts] == [batch] * (n // batch) + [n % batch] * (n % batch > 0)
    whole = torch.cat([prior.sample(len(p), rngs[1]) for p in parts])
    torch.testing.assert_close(torch.cat(parts), whole)
    torch.testing.assert_close(torch.cat(list(prior.stream_sobol(n, 5, batch))), prior.sample_sobol(n, 5))


def test_a_stream_holds_one_batch_at_a_time(rng):
    prior = MaskPrior(64, 6.4)
    seen = []
    for masks in prior.stream(10_000, rng, batch=10):
        seen.append(masks.untyped_storage().nbytes())
        if len(seen) == 3:
            break
    assert seen == [10 * 64 * 64 * 4] * 3
    tracemalloc.start()
    next(iter(prior.stream_sobol(10**9, 0, batch=10)))
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()


def test_rectangles_have_the_same_length_scale_on_both_sides(rng):
    prior = small(size=(6, 15))
    masks = prior.sample(3, rng)
    assert masks.shape == (3, 6, 15)
    tall = small(size=(15, 6))
    torch.testing.assert_close(prior.col_factor, tall.row_factor)


def test_masks_are_a_function_of_their_latents(rng):
    prior = small()
    latents = torch.randn(2, *prior.latent_size, generator=rng, dtype=torch.float64)
    expected = torch.sigmoid(prior.mean + prior.sd * prior.row_factor @ latents @ prior.col_factor.mT)
    torch.testing.assert_close(prior.masks(latents), expected)
    assert 0 <= prior.masks(latents).min() <= prior.masks(latents).max() <= 1
