"""Curvature of a 1000-class head on 2048 cached features and a bias, beside laplace-torch and a plain einsum.

laplace-torch takes seconds an image here, so it is run on a few images; the others on many; all are compared per image.
"""

from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from bayesteach import CurvatureSums
from bayesteach.vision.torchvision_import import import_torchvision
from report import once, seconds, write

import_torchvision()
from laplace import Laplace  # noqa: E402 — it imports torchvision

FEATURES, CLASSES, IMAGES, EINSUM_IMAGES, LAPLACE_IMAGES = 2049, 1000, 4096, 64, 3


def main() -> None:
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(IMAGES, FEATURES, generator=rng).relu()
    z[:, -1] = 1
    head = 0.05 * torch.randn(CLASSES, FEATURES, generator=rng)
    p = (z @ head.mT).softmax(1)

    def ours(images: int) -> CurvatureSums:
        sums = CurvatureSums(CLASSES, FEATURES)
        for start in range(0, images, 1024):
            sums.add(z[start : min(start + 1024, images)], p[start : min(start + 1024, images)])
        return sums

    def einsum() -> tuple[torch.Tensor, torch.Tensor]:
        few, q = z[:EINSUM_IMAGES], p[:EINSUM_IMAGES]
        features = torch.einsum("bi,bj->bij", few, few).mean(0)
        classes = (torch.diag_embed(q) - torch.einsum("bi,bj->bij", q, q)).mean(0)
        return features, classes

    linear = torch.nn.Linear(FEATURES, CLASSES, bias=False)
    linear.weight = torch.nn.Parameter(head)
    model = torch.nn.Sequential(torch.nn.Identity(), linear)
    judge: Any = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure="kron")
    data = TensorDataset(z[:LAPLACE_IMAGES], torch.zeros(LAPLACE_IMAGES, dtype=torch.long))

    time_ours = seconds(lambda: ours(IMAGES), repeats=3) / IMAGES
    time_einsum = seconds(einsum, repeats=2) / EINSUM_IMAGES
    time_laplace = once(lambda: judge.fit(DataLoader(data, batch_size=1))) / LAPLACE_IMAGES
    same = ours(LAPLACE_IMAGES)
    theirs_class, theirs_features = judge.H_facs.kfacs[0]
    ours_class, ours_features = same.class_factor.float(), same.feature_factor.float()

    def shape_of(factor: torch.Tensor) -> torch.Tensor:
        return factor / factor.norm()

    write(
        "curvature",
        {
            "ratio to laplace-torch, per image": time_laplace / time_ours,
            "ratio to a plain einsum, per image": time_einsum / time_ours,
            "images: ours, einsum, laplace-torch": f"{IMAGES}, {EINSUM_IMAGES}, {LAPLACE_IMAGES}",
            "largest difference of unit class factors": float(
                (shape_of(theirs_class) - shape_of(ours_class)).abs().max()
            ),
            "largest difference of unit feature factors": float(
                (shape_of(theirs_features) - shape_of(ours_features)).abs().max()
            ),
        },
    )


if __name__ == "__main__":
    main()
