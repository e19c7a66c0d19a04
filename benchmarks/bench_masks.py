"""Masks at 224 × 224, beside a RISE generator: random 7 × 7 grids, enlarged bilinearly and cropped with a random shift.

Both make a batch at a time. Memory is the process's greatest, read before and after a hundredfold longer stream.
"""

import resource

import torch

from bayesteach import MaskPrior
from report import seconds, write

SIZE, CELLS, BATCH = 224, 7, 64


def rise(n: int, rng: torch.Generator) -> torch.Tensor:
    """RISE's masks (Petsiuk et al. 2018): each cell is shown with probability ½; bilinear, up to one cell of random shift."""
    cell = -(-SIZE // CELLS)
    side = (CELLS + 1) * cell
    grids = (torch.rand(n, 1, CELLS, CELLS, generator=rng) < 0.5).float()
    shifts = torch.randint(0, cell, (n, 2), generator=rng).tolist()
    large = torch.nn.functional.interpolate(grids, size=(side, side), mode="bilinear", align_corners=False)[:, 0]
    return torch.stack([mask[x : x + SIZE, y : y + SIZE] for mask, (x, y) in zip(large, shifts, strict=True)])


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    prior, rng = MaskPrior(), torch.Generator().manual_seed(0)
    ours = seconds(lambda: prior.sample(BATCH, rng), repeats=20)
    dense = seconds(lambda: rise(BATCH, rng), repeats=20)
    sobol = seconds(lambda: prior.sample_sobol(BATCH, 0), repeats=5)

    def drain(n: int) -> float:
        for _ in prior.stream(n, rng, BATCH):
            pass
        return peak_megabytes()

    few, many = drain(256), drain(25_600)
    write(
        "masks",
        {
            "masks a second over RISE's": dense / ours,
            "Sobol masks a second over RISE's": dense / sobol,
            "megabytes that 25,600 masks need beyond 256": many - few,
            "batch": BATCH,
        },
    )


if __name__ == "__main__":
    main()
