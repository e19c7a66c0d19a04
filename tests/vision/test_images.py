"""Sets of images: from folders, tables and datasets; their sums; and reading them."""

import csv
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bayesteach.errors import BadClassifier, BadImage, Empty
from bayesteach.vision import hugging_face
from bayesteach.vision.images import Entry, ImageSet, Unreadable
from bayesteach.vision.photos import open_photo

CLASSES = ("cat", "dog", "eel")


def index(name: str) -> int:
    if name not in CLASSES:
        raise BadClassifier(f"class: found {name!r}, which is none of the 3 labels.")
    return CLASSES.index(name)


def photo(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (9, 8, 3), np.uint8))


def put(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    photo(seed).save(path)
    return path


def names(images: ImageSet) -> list[str]:
    return [Path(entry.path).name for entry in images]


@pytest.fixture
def val(tmp_path) -> Path:
    """Four photos of two classes, made in no order, among what programs leave behind."""
    root = tmp_path / "val"
    for i, name in enumerate(["dog/b.png", "cat/2.JPG", "dog/a.webp", "cat/10.jpeg"]):
        put(root / name, i)
    other = (root / "dog/b.png").read_bytes()
    for name in ["cat/notes.txt", "cat/._2.jpg", ".thumbs/t.png", "__MACOSX/2.png", "cover.png"]:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(other + bytes([1]))
    (root / "empty").mkdir()
    return root


def test_a_folder(val):
    images = ImageSet.from_folder(val, index)
    assert names(images) == ["10.jpeg", "2.JPG", "a.webp", "b.png"]
    assert [entry.label for entry in images] == [0, 0, 1, 1]
    assert {entry.split for entry in images} == {"val"}
    for entry in images:
        assert entry.id == sha256(Path(entry.path).read_bytes()).hexdigest()
        assert Path(entry.path).is_absolute()
    assert len(images) == 4
    assert not images.disputed
    assert not images.unreadable
    assert images.summary == "4 images of 2 classes"


def test_a_folder_does_not_depend_on_where_one_stands_or_on_a_trailing_slash(val, monkeypatch):
    images = ImageSet.from_folder(val, index)
    monkeypatch.chdir(val.parent)
    assert ImageSet.from_folder("val/", index) == images


def test_the_order_is_not_the_file_systems(val, monkeypatch):
    images = ImageSet.from_folder(val, index)
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    assert ImageSet.from_folder(val, index) == images


def test_progress_sees_every_image(val):
    seen = []

    def watch(sequence):
        for item in sequence:
            seen.append(item)
            yield item

    ImageSet.from_folder(val, index, progress=watch)
    assert len(seen) == 4


def table(path: Path, rows: list[list[str]], encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_table_is_the_folder_whatever_the_order_of_its_rows(val):
    folder = ImageSet.from_folder(val, index)
    rows = [["dog", "dog/b.png"], ["cat", "cat/10.jpeg"], ["cat", str(val / "cat/2.JPG")], ["dog", "dog/a.webp"]]
    for order in (rows, rows[::-1]):
        file = table(val / "photos.csv", [["label", "path"], *order], encoding="utf-8-sig")
        assert ImageSet.from_csv(file, index, split="val") == folder
    assert {entry.split for entry in ImageSet.from_csv(file, index)} == {"photos"}


def test_a_table_may_tell_the_split(val):
    rows = [["path", "label", "split"], ["dog/b.png", "dog", "train"], ["cat/2.JPG", "cat", ""]]
    images = ImageSet.from_csv(table(val / "photos.csv", rows), index, split="other")
    assert {Path(entry.path).name: entry.split for entry in images} == {"b.png": "train", "2.JPG": "other"}


def dataset(seeds: list[int], labels: list, feature=None, encoding: str = "png") -> datasets.Dataset:
    feature = datasets.ClassLabel(names=["dog", "eel", "cat"]) if feature is None else feature
    rows = {"image": [], "label": labels}
    for seed in seeds:
        path = Path(f"{seed}.{encoding}")
        photo(seed).save(path)
        rows["image"].append({"bytes": path.read_bytes(), "path": None})
        path.unlink()
    return datasets.Dataset.from_dict(rows, features=datasets.Features({"image": datasets.Image(), "label": feature}))


@pytest.fixture
def saved(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()
    # The dataset's classes have other numbers than the classifier's.
    dataset([0, 1, 2], [2, 0, 2]).save_to_disk("one")
    both = {"train": dataset([3], [1]), "test": dataset([0, 1], ["cat", "eel"], datasets.Value("string"))}
    datasets.DatasetDict(both).save_to_disk("both")
    return tmp_path


def test_a_dataset_is_read_byte_for_byte(saved):
    images = ImageSet.from_hugging_face("one", index, split="train")
    assert [entry.label for entry in images] == [0, 1, 0]
    assert [entry.path for entry in images] == [f"hf:{saved}/one:train#{row}" for row in range(3)]
    put(saved / "same.png", 0)
    assert images.entries[0].id == sha256((saved / "same.png").read_bytes()).hexdigest()
    assert [(e.path, p.tobytes()) for e, p in images.read()] == [
        (e.path, photo(i).tobytes()) for i, e in enumerate(images)
    ]
    assert open_photo(images.entries[2].path).tobytes() == photo(2).tobytes()
    numbered = ImageSet.from_hugging_face("one", None, split="train")
    assert [entry.label for entry in numbered] == [2, 0, 2]


def test_a_dataset_with_splits_and_names(saved):
    images = ImageSet.from_hugging_face(saved / "both", index, split="test")
    assert [(e.label, e.split) for e in images] == [(0, "test"), (2, "test")]
    one = ImageSet.from_hugging_face("one", index, split="train")
    # Its photo 0 is a cat in both, its photo 1 a dog in one and an eel in the other.
    together = one + images
    assert [e.path for e in together] == [one.entries[0].path, one.entries[2].path]
    assert [e.path for e in together.disputed] == [one.entries[1].path, images.entries[1].path]


def test_a_dataset_is_loaded_once(saved, monkeypatch):
    images = ImageSet.from_hugging_face("one", index, split="train")
    monkeypatch.setattr(datasets, "load_from_disk", lambda _: pytest.fail("loaded again"))
    assert len(list(images.read())) == 3


def test_a_dataset_of_files_and_rows_of_datasets_in_tables(saved):
    put(saved / "file.png", 5)
    features = datasets.Features({"picture": datasets.Image(), "label": datasets.Value("int64")})
    rows = {"picture": [str(saved / "file.png"), None], "label": [1, 2]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk("files")
    images = ImageSet.from_hugging_face("files", None, split="train")
    assert [(e.label, e.id) for e in images] == [(1, sha256((saved / "file.png").read_bytes()).hexdigest())]
    assert [bad.path for bad in images.unreadable] == [f"hf:{saved}/files:train#1"]
    assert "row 1 holds no image" in images.unreadable[0].reason
    listed = table(saved / "rows.csv", [["path", "label"], [images.entries[0].path, "eel"]])
    assert [e.id for e in ImageSet.from_csv(listed, index)] == [images.entries[0].id]


@pytest.mark.parametrize(
    ("folder", "split", "message"),
    [
        ("both", "val", "has splits train, test, found 'val'"),
        ("nobody/nothing", "train", "nobody/nothing could not be loaded .*a folder that Dataset.save_to_disk wrote"),
        (".", "train", "could not be loaded"),
        ("unlabelled", "train", "no column of labels"),
        ("blind", "train", "has columns label, none of them of images"),
        ("withheld", "train", "#1 has no label"),
        ("others", "train", "#0 is not under a class of the classifier. class: found 'yak'"),
    ],
)
def test_datasets_that_do_not_serve(folder, split, message, saved, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    dataset([0], [0]).remove_columns("label").save_to_disk("unlabelled")
    dataset([0], [0]).remove_columns("image").save_to_disk("blind")
    dataset([0, 1], [0, -1]).save_to_disk("withheld")
    dataset([0], ["yak"], datasets.Value("string")).save_to_disk("others")
    with pytest.raises(BadImage, match=message) as caught:
        ImageSet.from_hugging_face(folder, index, split=split)
    assert "\n" not in str(caught.value)


def test_rows_that_are_not(saved):
    with pytest.raises(BadImage, match="'cat', which is no number. Pass index=classifier.index"):
        ImageSet.from_hugging_face("both", None, split="test")
    for path, message in (("one:train#3", "beyond the 3 rows"), ("one:train#x", "no row"), ("one#1", "no row")):
        with pytest.raises(BadImage, match=message):
            open_photo(f"hf:{path}")


def test_the_package_that_reads_datasets_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(BadImage, match=r"pip install 'bayesteach\[huggingface\]'"):
        hugging_face.rows("some/dataset", "train")


def test_an_image_counts_once_under_its_label_and_as_it_came_first(val):
    shutil.copy(val / "cat/2.JPG", val / "cat/copy.jpg")
    images = ImageSet.from_folder(val, index)
    assert names(images) == ["10.jpeg", "2.JPG", "a.webp", "b.png"]
    again = images + ImageSet.from_folder(val, index, split="again")
    assert again == images


def test_an_image_under_two_labels_serves_neither_and_is_listed(val):
    shutil.copy(val / "cat/2.JPG", val / "dog/copy.jpg")
    images = ImageSet.from_folder(val, index)
    assert names(images) == ["10.jpeg", "a.webp", "b.png"]
    assert [(Path(e.path).name, e.label) for e in images.disputed] == [("2.JPG", 0), ("copy.jpg", 1)]
    for part in (
        "3 images of 2 classes",
        "1 left out for having several labels",
        "2.JPG as class 0",
        "copy.jpg as class 1",
    ):
        assert part in images.summary


ENTRIES = st.lists(
    st.builds(
        Entry, id=st.sampled_from("abcd"), path=st.sampled_from("pqrst"), label=st.integers(0, 2), split=st.just("s")
    ),
    max_size=5,
)
BAD = st.lists(st.builds(Unreadable, path=st.sampled_from("xyz"), reason=st.just("torn")), max_size=2)
PARTS = st.lists(st.tuples(ENTRIES, BAD), min_size=3, max_size=3)


@given(PARTS)
def test_sets_add_up_whatever_is_added_first(parts):
    a, b, c = (ImageSet.of(*part) for part in parts)
    assert (a + b) + c == a + (b + c)
    assert a + a == a
    assert a + ImageSet(()) == a
    total = a + b + c
    ids = [e.id for e in total]
    assert len(set(ids)) == len(ids)
    assert not {e.id for e in total.disputed} & set(ids)
    brought = {(e.id, e.label) for entries, _ in parts for e in entries}
    assert {(e.id, e.label) for e in (*total.entries, *total.disputed)} == brought
    assert all(len({label for same, label in brought if same == e.id}) > 1 for e in total.disputed)
    assert {bad.path for bad in total.unreadable} == {bad.path for _, bads in parts for bad in bads}


def test_a_selection_keeps_the_order_and_what_was_left_out():
    entries = [Entry(c, c, label, split) for c, label, split in [("b", 0, "x"), ("a", 1, "y"), ("c", 0, "y")]]
    disputed = [Entry("d", "d", 0, "x"), Entry("d", "e", 1, "x")]
    images = ImageSet.of(entries + disputed, [Unreadable("bad", "torn")])
    assert [e.id for e in images.select(labels={0})] == ["b", "c"]
    assert [e.id for e in images.select(splits=["y"])] == ["a", "c"]
    assert [e.id for e in images.select(labels=[0], splits=["y"])] == ["c"]
    # Left out once, an image under two labels does not come back with a set that knows one of them.
    assert images.select(labels=[0]) + ImageSet.of(disputed[:1]) == images.select(labels=[0])
    assert images.select(labels=[7]).summary == (
        "0 images of 0 classes; 1 left out for having several labels (d as class 0, e as class 1); "
        "1 left out that could not be read (bad)"
    )


def test_what_cannot_be_read_is_listed_and_stops_nothing_unless_asked(val):
    (val / "cat/gone.png").symlink_to(val / "nowhere.png")
    (val / "dog/nothing.png").touch()
    images = ImageSet.from_folder(val, index)
    assert len(images) == 4
    assert [Path(bad.path).name for bad in images.unreadable] == ["gone.png", "nothing.png"]
    assert "2 left out that could not be read" in images.summary
    with pytest.raises(BadImage, match="gone.png cannot be read"):
        ImageSet.from_folder(val, index, strict=True)


def test_reading_goes_on_past_broken_photos_and_counts_them(val):
    whole = (val / "dog/b.png").read_bytes()
    (val / "cat/5.png").write_bytes(whole[: len(whole) // 2])
    (val / "cat/6.png").write_text("not a photo")
    images = ImageSet.from_folder(val, index)
    reading = images.read()
    for _ in range(2):
        seen = [(Path(entry.path).name, picture.size) for entry, picture in reading]
        assert seen == [(name, (8, 9)) for name in ("10.jpeg", "2.JPG", "a.webp", "b.png")]
        assert [Path(bad.path).name for bad in reading.unreadable] == ["5.png", "6.png"]
    assert "6.png cannot be read as a photo" in reading.unreadable[1].reason
    with pytest.raises(BadImage, match="5.png cannot be read as a photo"):
        list(images.read(strict=True))


def test_photos_are_read_when_they_are_asked_for(val, monkeypatch):
    images = ImageSet.from_folder(val, index)
    opened = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
    passing = iter(images.read())
    assert not opened
    next(passing)
    assert len(opened) == 1


def test_a_photo_that_is_no_longer_what_was_collected_is_not_read(val):
    images = ImageSet.from_folder(val, index)
    put(val / "cat/10.jpeg", 7)
    reading = images.read()
    assert len(list(reading)) == 3
    assert "10.jpeg has changed" in reading.unreadable[0].reason


def test_folders_and_tables_that_do_not_serve(val, tmp_path):
    cases = [
        (lambda: ImageSet.from_folder(tmp_path / "no", index), BadImage, "no folder"),
        (lambda: ImageSet.from_folder(val / "cat", index), Empty, "ROOT/CLASS"),
        (lambda: ImageSet.from_csv(tmp_path / "no.csv", index), BadImage, "no.csv cannot be read"),
    ]
    tables = {
        "has no rows": [["path", "label"]],
        "columns file, label": [["file", "label"], ["a", "cat"]],
        "line 3 has path '' and label 'cat'": [["path", "label"], ["val/cat/2.JPG", "cat"], [" ", "cat"]],
        "line 2 has path 'a' and label ''": [["path", "label"], ["a"]],
        "line 3 is not under a class .* 'yak'": [["path", "label"], ["a", "cat"], ["b", "yak"]],
        "none of 2 can be read. The first: .*/a ": [["path", "label"], ["a", "cat"], ["b", "dog"]],
    }
    for i, (message, rows) in enumerate(tables.items()):
        file = table(tmp_path / f"{i}.csv", rows)
        error = Empty if "no rows" in message else BadImage
        cases.append((lambda file=file: ImageSet.from_csv(file, index), error, message))
    for case, error, message in cases:
        with pytest.raises(error, match=message) as caught:
            case()
        assert "\n" not in str(caught.value)
    put(val / "yak/1.png", 0)
    with pytest.raises(BadImage, match="val/yak is not under a class of the classifier. class: found 'yak'"):
        ImageSet.from_folder(val, index)
