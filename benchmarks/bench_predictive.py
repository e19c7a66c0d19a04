"""How far the mean-field probit is from the Monte Carlo probabilities, as logits grow uncertain; and what each costs."""

import torch

from bayesteach import KroneckerGaussian
from report import seconds, write

CLASSES, FEATURES, IMAGES, DRAWS = 100, 64, 200, 20_000


def main() -> None:
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(IMAGES, FEATURES, generator=rng) / FEATURES**0.5
    mean = 3 * torch.randn(CLASSES, FEATURES, generator=rng)
    rows = torch.randn(CLASSES, CLASSES, generator=rng) / CLASSES**0.5
    rows -= rows.mean(0)
    results: dict[str, object] = {}
    for sd in (0.1, 0.3, 1.0, 3.0):
        logits = KroneckerGaussian(mean, sd * rows, torch.eye(FEATURES)).at(z)
        probit, exact = logits.mean_field_probit(), logits.probabilities(rng, DRAWS)
        off = (probit - exact).abs()
        top = exact.argmax(1, keepdim=True)
        name = f"logits' standard deviation {sd}: "
        results |= {
            name + "largest deviation of the probit": float(off.max()),
            name + "mean deviation at the top class": float(off.gather(1, top).mean()),
            name + "images whose top class it changes": float((probit.argmax(1) != top[:, 0]).float().mean()),
        }
    hundred = seconds(lambda: logits.probabilities(rng))
    head = KroneckerGaussian(mean, rows, torch.eye(FEATURES))
    results["ratio: 100 draws of weights over 100 draws of logits"] = seconds(
        lambda: head.probabilities_by_weights(z[:1], rng)
    ) / seconds(lambda: head.at(z[:1]).probabilities(rng))
    results["ratio: 100 draws of logits over the probit"] = hundred / seconds(logits.mean_field_probit)
    write("predictive", results)


if __name__ == "__main__":
    main()
