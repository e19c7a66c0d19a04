"""Descent on a stream of views, beside the exact mode on very many of them."""

import torch

from bayesteach import refit_head
from bayesteach.maths.descent import AveragedDescent
from tests.maths.test_refit import world

WEIGHT_DECAY, BATCH, SPREAD = 1e-2, 50, 0.4


def view(features: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
    """Features somewhere near these; the bias stays 1."""
    noise = SPREAD * torch.randn(features.shape, generator=rng, dtype=features.dtype)
    noise[:, -1] = 0
    return features + noise


def descended(features, labels, start, epochs: int, seed: int = 0) -> AveragedDescent:
    rng = torch.Generator().manual_seed(seed)
    total = epochs * len(features) // BATCH
    descent = AveragedDescent.of(start, features, weight_decay=WEIGHT_DECAY, total=total, batch=BATCH)
    for _ in range(epochs):
        for part in torch.randperm(len(features), generator=rng).split(BATCH):
            descent.add(view(features[part], rng), labels[part])
    assert descent.steps == total
    return descent


def test_it_comes_to_the_mode_on_views_and_not_to_that_on_the_images(rng):
    features, labels = world(rng)
    plain = refit_head(features, labels, torch.zeros(4, 5).double(), weight_decay=WEIGHT_DECAY).head
    many = torch.cat([view(features, rng) for _ in range(200)])
    mode = refit_head(many, labels.repeat(200), plain, weight_decay=WEIGHT_DECAY).head
    found = descended(features, labels, plain, epochs=300)
    away = float((plain - mode).norm())
    assert float((found.mean - mode).norm()) < 0.15 * away
    # The average is what helps: the last head still wanders.
    assert float((found.mean - mode).norm()) < float((found.head - mode).norm())


def test_a_state_put_back_goes_on_bit_for_bit(rng):
    features, labels = world(rng)
    start = torch.zeros(4, 5).double()
    whole = AveragedDescent.of(start, features, weight_decay=WEIGHT_DECAY, total=6, batch=BATCH)
    first = AveragedDescent.of(start, features, weight_decay=WEIGHT_DECAY, total=6, batch=BATCH)
    for step in range(6):
        whole.add(features[step * 9 : step * 9 + 9], labels[step * 9 : step * 9 + 9])
        if step < 3:
            first.add(features[step * 9 : step * 9 + 9], labels[step * 9 : step * 9 + 9])
    again = AveragedDescent(first.head.clone(), first.mean.clone(), first.rate, WEIGHT_DECAY, 6, first.steps)
    for step in range(3, 6):
        again.add(features[step * 9 : step * 9 + 9], labels[step * 9 : step * 9 + 9])
    assert torch.equal(again.mean, whole.mean)
    assert torch.equal(again.head, whole.head)
    # Nothing of what came before the second half is in the estimate.
    assert not torch.equal(again.mean, again.head)


def test_the_step_is_small_enough_for_the_largest_features(rng):
    features, labels = world(rng)
    large = features * 100
    found = descended(large, labels, torch.zeros(4, 5).double(), epochs=3)
    assert found.head.isfinite().all()
    log_p = (large @ found.mean.mT).log_softmax(-1)
    assert float(-log_p.gather(1, labels[:, None]).mean()) < torch.log(torch.tensor(4.0))
