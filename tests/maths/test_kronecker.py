"""The matrix normal against dense covariances."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bayesteach import KroneckerGaussian
from tests.oracles import covariance_of_vec, doubles


def head(rows: int, cols: int, rng: torch.Generator, size: float = 1.0) -> KroneckerGaussian:
    return KroneckerGaussian(
        doubles(rows, cols, rng=rng), size * doubles(rows, rows - 1, rng=rng), doubles(cols, cols, rng=rng)
    )


@given(st.integers(2, 5), st.integers(1, 5), st.integers(0, 99))
def test_contrast_and_logits_are_the_linear_images_of_the_dense_gaussian(rows, cols, seed):
    rng = torch.Generator().manual_seed(seed)
    w = head(rows, cols, rng)
    dense = covariance_of_vec(w.row_scale, w.col_scale)
    z = doubles(cols, rng=rng)

    # vec stacks columns: row r of W is picked by I ⊗ eᵣᵀ, and W z by zᵀ ⊗ I.
    eye = torch.eye(rows, dtype=torch.float64)
    pick = torch.kron(torch.eye(cols, dtype=torch.float64), (eye[0] - eye[1])[None])
    contrast = w.contrast(0, 1)
    torch.testing.assert_close(contrast.covariance, pick @ dense @ pick.mT)
    torch.testing.assert_close(contrast.mean, w.mean[0] - w.mean[1])

    apply = torch.kron(z[None], eye)
    logits = w.at(z[None])
    torch.testing.assert_close(logits.spread[0] ** 2 * (w.row_scale @ w.row_scale.mT), apply @ dense @ apply.mT)
    torch.testing.assert_close(logits.mean[0], w.mean @ z)


def test_samples_have_the_moments_of_the_dense_gaussian(rng):
    w = head(3, 2, rng)
    draws = w.sample(40_000, rng)
    assert draws.shape == (40_000, 3, 2)
    vec = draws.mT.reshape(len(draws), -1)
    dense = covariance_of_vec(w.row_scale, w.col_scale)
    error = (dense.diagonal()[:, None] * dense.diagonal() + dense**2).sqrt() / 200
    assert ((vec.T.cov() - dense).abs() < 5 * error).all()
    assert ((vec.mean(0) - w.mean.mT.flatten()).abs() < 5 * dense.diagonal().sqrt() / 200).all()


def test_logit_and_weight_space_probabilities_agree_within_their_error(rng):
    w, z = head(4, 6, rng, size=0.4), doubles(8, 6, rng=rng)
    draws = 4000
    by_logits, by_weights = w.at(z).probabilities(rng, draws), w.probabilities_by_weights(z, rng, draws)
    sd = w.at(z).sample(500, rng).softmax(-1).std(0)
    assert ((by_logits - by_weights).abs() < 5 * sd * (2 / draws) ** 0.5 + 1e-9).all()
    torch.testing.assert_close(by_logits.sum(-1), torch.ones(8, dtype=torch.float64))
    # The same draws would agree by construction; these do not share any.
    assert not torch.equal(by_logits, by_weights)


def test_probit_is_exact_without_uncertainty_and_near_it_with_little(rng):
    certain = KroneckerGaussian(doubles(4, 6, rng=rng), torch.zeros(4, 1).double(), torch.eye(6).double())
    z = doubles(8, 6, rng=rng)
    torch.testing.assert_close(certain.at(z).mean_field_probit(), (z @ certain.mean.mT).softmax(-1))

    w = head(4, 6, rng, size=0.1)
    off = (w.at(z).mean_field_probit() - w.at(z).probabilities(rng, 4000)).abs()
    assert 1e-4 < off.max() < 0.1


def test_a_hundred_draws_by_default(rng):
    w, z = head(3, 2, rng), doubles(5, 2, rng=rng)
    seeds = [torch.Generator().manual_seed(1) for _ in range(2)]
    torch.testing.assert_close(w.at(z).probabilities(seeds[0]), w.at(z).probabilities(seeds[1], draws=100))


def test_precision_can_be_changed(rng):
    w = head(3, 2, rng).to(torch.float32)
    assert {w.mean.dtype, w.row_scale.dtype, w.col_scale.dtype} == {torch.float32}


def test_images_may_come_in_any_number_of_dimensions(rng):
    w, z = head(3, 2, rng), doubles(4, 5, 2, rng=rng)
    flat, nested = w.at(z.reshape(20, 2)), w.at(z)
    torch.testing.assert_close(nested.mean.reshape(20, 3), flat.mean)
    torch.testing.assert_close(nested.sample(2, rng).shape, torch.Size([2, 4, 5, 3]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_follow_the_precision_of_the_head(dtype, rng):
    assert head(3, 2, rng).to(dtype).sample(2, rng).dtype == dtype
