"""The head at its mode, against scikit-free Newton on a toy."""

import pytest
import torch

from bayesteach import NotConverged, refit_head
from tests.oracles import doubles, with_bias


def world(rng: torch.Generator, images: int = 200, cols: int = 5, classes: int = 4):
    features = with_bias(doubles(images, cols - 1, rng=rng))
    labels = torch.multinomial((features @ doubles(classes, cols, rng=rng).mT).softmax(1), 1, generator=rng)[:, 0]
    return features, labels


def newton(features, labels, classes, weight_decay):
    """The same minimum by Newton's method with autograd's Hessian."""
    head = torch.zeros(classes * features.shape[1], dtype=torch.float64)

    def loss(flat):
        logits = features @ flat.view(classes, -1).mT
        return torch.nn.functional.cross_entropy(logits, labels) + weight_decay / 2 * flat.square().sum()

    for _ in range(30):
        gradient = torch.func.grad(loss)(head)
        head = head - torch.linalg.solve(torch.autograd.functional.hessian(loss, head), gradient)
    return head.view(classes, -1)


@pytest.mark.parametrize("weight_decay", [1e-3, 0.1])
def test_it_is_the_minimum(weight_decay, rng):
    features, labels = world(rng)
    refit = refit_head(features, labels, torch.zeros(4, 5).double(), weight_decay=weight_decay, tolerance=1e-7)
    torch.testing.assert_close(refit.head, newton(features, labels, 4, weight_decay), atol=1e-5, rtol=0)
    assert refit.gradient_norm <= 1e-7


def test_the_gradient_is_below_the_default_tolerance(rng):
    features, labels = world(rng)
    refit = refit_head(features.float(), labels, torch.zeros(4, 5))
    assert refit.gradient_norm <= 1e-6
    expected = torch.nn.functional.cross_entropy(features @ refit.head.mT, labels) + 5e-5 * refit.head.square().sum()
    assert refit.loss == pytest.approx(float(expected), abs=1e-6)


def test_the_start_does_not_matter(rng):
    features, labels = world(rng)
    ends = [refit_head(features, labels, 3 * doubles(4, 5, rng=rng), tolerance=1e-8).head for _ in range(2)]
    torch.testing.assert_close(*ends, atol=1e-4, rtol=0)


def test_at_the_minimum_it_stays(rng):
    features, labels = world(rng)
    there = refit_head(features, labels, torch.zeros(4, 5).double(), tolerance=1e-8)
    again = refit_head(features, labels, there.head, tolerance=1e-6)
    assert again.iterations <= 1
    torch.testing.assert_close(again.head, there.head, atol=1e-4, rtol=0)


def test_what_does_not_converge_is_said_with_the_gradient(rng):
    features, labels = world(rng)
    with pytest.raises(NotConverged, match="gradient norm .* after 2 iterations") as raised:
        refit_head(features, labels, torch.zeros(4, 5).double(), max_iterations=2)
    assert raised.value.partial.head.shape == (4, 5)
