"""Weights from local files, and files that hold something else."""

import pickle
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from bayesteach.errors import BadClassifier
from bayesteach.vision.weights import load_weights

STATE = {"fc.weight": torch.arange(6.0).view(2, 3), "fc.bias": torch.tensor([0.5, -1.0]), "seen": torch.tensor(7)}


def same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> bool:
    return found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("name", ["w.safetensors", "w.pth", "w.pt", "w.bin"])
def test_a_state_dict_comes_back(name, tmp_path):
    if name.endswith("safetensors"):
        save_file(STATE, tmp_path / name)
    else:
        torch.save(STATE, tmp_path / name)
    assert same(load_weights(tmp_path / name), STATE)


@given(
    wrapper=st.sampled_from(["state_dict", "model", "state_dict_ema", "model_state_dict", None]),
    parallel=st.booleans(),
    old_format=st.booleans(),
)
def test_what_training_scripts_wrap_around_it_is_taken_off(tmp_path_factory, wrapper, parallel, old_format):
    path = tmp_path_factory.mktemp("weights") / "w.pth"
    state = {f"module.{name}" if parallel else name: tensor for name, tensor in STATE.items()}
    wrapped = state if wrapper is None else {"epoch": 3, "arch": "resnet", wrapper: state}
    torch.save(wrapped, path, _use_new_zipfile_serialization=not old_format)
    assert same(load_weights(path), STATE)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_are_float32_and_counts_stay_whole(precision, tmp_path):
    state = {name: t.to(precision) if t.is_floating_point() else t for name, t in STATE.items()}
    save_file(state, tmp_path / "w.safetensors")
    found = load_weights(tmp_path / "w.safetensors")
    assert same(found, STATE)
    assert found["fc.weight"].dtype == torch.float32
    assert found["seen"].dtype == torch.int64


class Malicious:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("how", ["torch", "torch, old format", "pickle"])
def test_code_in_a_file_is_refused_and_not_run(how, tmp_path):
    path, witness = tmp_path / "w.pth", tmp_path / "ran"
    state = {**STATE, "extra": Malicious(witness)}
    if how == "pickle":
        path.write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path, _use_new_zipfile_serialization=how == "torch")
    with pytest.raises(BadClassifier, match="w.pth cannot be read as weights") as caught:
        load_weights(path)
    assert not witness.exists()
    assert "holds code, which is not run" in str(caught.value)
    assert "\n" not in str(caught.value)
    # The file is what it seems: whoever trusts it runs its code.
    torch.load(path, weights_only=False) if how != "pickle" else pickle.loads(path.read_bytes())  # noqa: S301
    assert witness.exists()


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
@pytest.mark.parametrize("content", ["nothing", "text", "a page", "half"])
def test_broken_files_are_refused(name, content, tmp_path):
    path = tmp_path / name
    if content == "half":
        torch.save(STATE, path) if name.endswith("pth") else save_file(STATE, path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.write_bytes({"nothing": b"", "text": b"weights", "a page": b"<!DOCTYPE html><html>404</html>"}[content])
    with pytest.raises(BadClassifier, match=f"{name} cannot be read as weights") as caught:
        load_weights(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        [torch.ones(2)],
        {"fc.weight": [1.0]},
        {"model": {"fc": {"weight": torch.ones(2)}}},
        torch.ones(3),
        {1: torch.ones(2)},
    ],
)
def test_files_of_something_else_are_refused(content, tmp_path):
    torch.save(content, tmp_path / "w.pth")
    with pytest.raises(BadClassifier, match="holds no state dict of tensors"):
        load_weights(tmp_path / "w.pth")


def test_a_whole_pickled_model_is_refused(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "model.pth")
    with pytest.raises(BadClassifier, match=r"model.pth cannot be read as weights .* Save model.state_dict\(\)"):
        load_weights(tmp_path / "model.pth")


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path / "no.pth", tmp_path):
        with pytest.raises(BadClassifier, match=f"there is no file {path}"):
            load_weights(path)
