"""Other methods' maps: they find what answers, agree with their definitions, and say what they cannot do."""

import pytest
import torch
from PIL import Image, ImageDraw
from torch import nn

from bayesteach import Classifier, Geometry
from bayesteach.errors import BadClassifier, BadSettings
from bayesteach.explain import attributions
from bayesteach.explain.attributions import grad_cam, occlusion

METHODS = (grad_cam, occlusion)
SIDE = 64


def looks_for_red() -> Classifier:
    """Class 1 where a disc is red, by convolutions, so that there are places to look at."""
    convolution = nn.Conv2d(3, 2, 4, stride=4, bias=False)
    with torch.no_grad():
        convolution.weight.copy_(torch.tensor([[1.0, -1, -1], [-1.0, 1, 1]])[..., None, None].expand(2, 3, 4, 4) / 4)
    head = nn.Linear(2, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.0, 4.0], [40.0, 0.0]]))
        head.bias.zero_()
    network = nn.Sequential(convolution, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    return Classifier.from_module(network, head="4", size=SIDE, preprocess=Geometry((SIDE, SIDE), SIDE))


def disc(y: int, x: int, radius: int = 6) -> Image.Image:
    picture = Image.new("RGB", (SIDE, SIDE), (90, 110, 120))
    ImageDraw.Draw(picture).ellipse((x - radius, y - radius, x + radius, y + radius), fill=(250, 10, 10))
    return picture


@pytest.mark.parametrize("attribute", METHODS)
def test_the_disc_that_answers_is_found(attribute):
    classifier = looks_for_red()
    pixels = classifier.pixels(disc(20, 44))
    found = attribute(classifier, pixels, 1)
    assert found.shape == pixels.shape[1:]
    y, x = divmod(int(found.argmax()), SIDE)
    assert abs(y - 20) <= 8
    assert abs(x - 44) <= 8
    assert float(found[14:27, 38:51].mean()) > 3 * float(found.mean())


def test_grad_cam_of_a_pooled_linear_head_is_the_class_activation_map():
    """There Grad-CAM has a closed form: the head's weights on the feature maps, where that is above 0, over their places."""
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(3, 5, 3, stride=4), nn.ReLU())
    network = nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3))
    classifier = Classifier.from_module(network, head="3", size=32)
    pixels = torch.rand(3, 32, 32)
    places = body(classifier.normalised(pixels[None]))
    weights = network[3].weight[2] / places[0, 0].numel()
    expected = torch.relu((weights[None, :, None, None] * places).sum(1, keepdim=True))
    expected = nn.functional.interpolate(expected, (32, 32), mode="bilinear")[0, 0].detach()
    torch.testing.assert_close(grad_cam(classifier, pixels, 2), expected, atol=1e-6, rtol=1e-4)


def test_occlusion_is_the_fall_in_probability():
    """In a corner only one square covers a pixel, so the map there is that square's fall."""
    classifier = looks_for_red()
    pixels = classifier.pixels(disc(5, 5))
    side = SIDE // 8
    hidden = pixels.clone()
    hidden[:, :side, :side] = torch.tensor(classifier.mean)[:, None, None]
    fall = classifier.probabilities(pixels[None])[0, 1] - classifier.probabilities(hidden[None])[0, 1]
    assert float(occlusion(classifier, pixels, 1)[0, 0]) == pytest.approx(float(fall), abs=1e-5)


class Tokens(nn.Module):
    """Patches in a row, as a vision transformer has them."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.row, self.norm = nn.Conv2d(3, 6, 8, stride=8), nn.Flatten(2), nn.LayerNorm(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.norm(self.row(self.patches(x)).mT).mean(1))


def test_a_network_without_places_is_named():
    classifier = Classifier.from_module(Tokens(), head="head", size=32, name="tokens")
    pixels = torch.rand(3, 32, 32)
    with pytest.raises(BadClassifier, match="tokens does not end in feature maps.*occlusion"):
        grad_cam(classifier, pixels, 0)
    assert occlusion(classifier, pixels, 0).shape == (32, 32)


@pytest.mark.parametrize("attribute", METHODS)
def test_without_captum_the_extra_is_named(attribute, monkeypatch):
    monkeypatch.setattr(attributions, "find_spec", lambda _name: None)
    with pytest.raises(BadSettings, match=r"bayesteach\[captum\]"):
        attribute(looks_for_red(), torch.rand(3, SIDE, SIDE), 0)
