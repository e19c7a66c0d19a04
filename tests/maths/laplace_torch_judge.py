"""Compare our Kronecker factors with laplace-torch's last-layer Laplace (exact GGN); exits non-zero where they differ."""

import torch
from torch.utils.data import DataLoader, TensorDataset

from bayesteach import CurvatureSums
from bayesteach.vision.torchvision_import import import_torchvision

import_torchvision()
from laplace import Laplace  # noqa: E402 — it imports torchvision

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
features = torch.cat([torch.randn(40, 6), torch.ones(40, 1)], 1)
labels = torch.randint(5, (40,))
# laplace-torch keeps a bias as a block of its own, so the head is a linear layer on [z, 1] without one.
model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(7, 5, bias=False))
judge = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure="kron")
judge.fit(DataLoader(TensorDataset(features, labels), batch_size=8))

head = model[1].weight.detach()
sums = CurvatureSums(5, 7).add(features, (features @ head.mT).softmax(1))
# Its H.kfacs are [class factor, feature factor] up to how N is shared between them: compare the Kronecker product.
(class_factor, feature_factor), *_ = judge.H_facs.kfacs
theirs = torch.kron(class_factor, feature_factor)
ours = torch.kron(sums.class_factor, sums.feature_factor) * 40
torch.testing.assert_close(theirs, ours, rtol=1e-8, atol=1e-10)
print("agree")
