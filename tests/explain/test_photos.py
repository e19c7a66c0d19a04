"""A real ImageNet network, on the photos that come with scikit-image."""

import pytest
import skimage.data
from PIL import Image

from bayesteach import Classifier, explain, make_engine
from bayesteach.explain.faithfulness import faithfulness


@pytest.fixture(scope="module")
def lite() -> Classifier:
    return Classifier.load("efficientnet-lite0")


def test_the_map_of_a_cat_lies_on_the_cat(lite, monkeypatch, tmp_path):
    monkeypatch.setenv("BAYESTEACH_CACHE", str(tmp_path))
    cat = Image.fromarray(skimage.data.chelsea())
    assert "cat" in lite.labels[int(lite.probabilities(lite.pixels(cat)[None])[0].argmax())]

    # It fills its photo, so it is set into a meadow, where there is something else to look at.
    meadow = Image.fromarray(skimage.data.grass()).convert("RGB").resize((448, 448))
    meadow.paste(cat.crop((100, 0, 400, 300)).resize((200, 200)), (10, 124))
    engine, pixels = make_engine(lite, "openvino"), lite.pixels(meadow)
    found = explain(lite, meadow, "tabby", masks=1000, engine=engine)
    cats, grass = found.maps[0, 70:150, 12:100], found.maps[0, :, 120:]
    assert cats.mean() > grass.mean() + 2 * found.errors[0].mean()

    curves = faithfulness(engine, pixels, found.maps[0], found.targets[0])
    assert curves.insertion_auc > 1.5 * curves.deletion_auc
