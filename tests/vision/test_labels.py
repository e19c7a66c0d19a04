"""Class names: ImageNet's, from files, and how one is found."""

import csv

import pytest

from bayesteach.errors import BadClassifier
from bayesteach.vision.labels import find, imagenet_aliases, imagenet_labels, read_labels
from bayesteach.vision.torchvision_import import import_torchvision
from tests.vision.imagenet import ROOT, needs_imagenet

import_torchvision()


# Reading timm's lists takes a tenth of a second.
LABELS, ALIASES = imagenet_labels(), imagenet_aliases()


def test_imagenet_has_a_thousand_names_and_no_two_alike():
    assert len(set(LABELS)) == 1000
    assert (LABELS[0], LABELS[281], LABELS[999]) == ("tench", "tabby", "toilet tissue")
    assert (LABELS[134], LABELS[517]) == ("crane (134)", "crane (517)")


@needs_imagenet
def test_the_order_and_the_numbers_are_imagenets_own():
    with (ROOT / "labels" / "imagenet_classes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["wnid"] for row in rows] == [names[0] for names in ALIASES]
    assert [row["synset"].lower() for row in rows] == [names[1].lower() for names in ALIASES]


def test_each_class_of_imagenet_is_found_by_its_name_and_its_numbers():
    for i in [*range(0, 1000, 9), 134, 517, 638, 639]:
        assert find(LABELS[i], LABELS, ALIASES) == i
        assert find(ALIASES[i][0], LABELS, ALIASES) == i
        # Both cranes are described as "crane", and one maillot as "maillot", which is a name of the other.
        if i not in (134, 517, 638):
            assert find(ALIASES[i][1], LABELS, ALIASES) == i


@pytest.mark.parametrize(
    ("name", "index"),
    [("TENCH", 0), (" goldfish ", 1), ("Tinca tinca", 0), ("tinca TINCA", 0), ("Cardigan", 264), ("cardigan", 474)],
)
def test_case_and_synonyms(name, index):
    assert find(name, LABELS, ALIASES) == index


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CARDIGAN", ["which 2 classes are called", "'Cardigan', class 264 or 'cardigan', class 474"]),
        ("crane", ["'crane (134)', class 134 or 'crane (517)', class 517"]),
        ("retriever", ["'golden retriever'", "none of the 1000 labels"]),
        ("goldfsh", ["Did you mean 'goldfish'"]),
        ("n00000000", ["none of the 1000 labels"]),
        ("", ["found ''", "none of the 1000 labels."]),
    ],
)
def test_a_name_that_is_none_or_several_is_refused_with_what_is_near(name, words):
    with pytest.raises(BadClassifier) as caught:
        find(name, LABELS, ALIASES)
    for word in words:
        assert word in str(caught.value)


def test_the_first_synonym_of_a_label_serves():
    labels = ("tench, Tinca tinca", "goldfish, Carassius auratus")
    assert find("goldfish", labels) == 1
    with pytest.raises(BadClassifier, match="Did you mean 'goldfish, Carassius auratus'"):
        find("Carassius", labels)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.txt", "cat\ndog, hound\n eel \n\n"),
        ("labels.txt", "\ufeffcat\r\ndog, hound\r\neel"),
        ("labels.csv", 'id,label\n0,cat\n1,"dog, hound"\n2, eel\n'),
        ("labels.CSV", '\ufeffname\ncat\n"dog, hound"\neel\n'),
        ("labels.csv", 'wnid,simple,class\nx,cat,a\ny,"dog, hound",b\nz,eel,c\n'),
    ],
)
def test_labels_from_files(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_labels(path, 3) == ("cat", "dog, hound", "eel")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("labels.txt", b"cat\ndog\n", "has 2 names, the classifier 3 classes"),
        ("labels.txt", b"", "has 0 names"),
        ("labels.csv", b"id,what\n0,cat\n", "has columns id, what; expected one of label, name"),
        ("labels.csv", b"", "has columns none"),
        ("labels.csv", b"id,label\n0,cat\n1\n2,eel\n", "line 3"),
        ("labels.txt", "Katze\nHündin\nAal".encode("latin-1"), "UTF-8"),
        ("", b"", "there is no file"),
    ],
)
def test_files_of_labels_that_do_not_serve(name, data, message, tmp_path):
    if name:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(BadClassifier, match=message) as caught:
        read_labels(tmp_path / name, 3)
    assert "\n" not in str(caught.value)
