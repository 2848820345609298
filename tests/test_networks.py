"""The networks in `examples/networks/`: their sizes, the formats of their data, training, and the programs."""

import argparse
import sys
from pathlib import Path

import numpy as np
import pytest

from shiftreset_ad import nn, value_and_grad
from tests.test_examples import run_example

FOLDER = Path(__file__).parents[1] / "examples" / "networks"
MODULES = ("images", "optimizers", "speech", "training", "trees", "weights")
NETWORKS = ("deepspeech2", "resnet50", "squeezenet", "tree_lstm")


@pytest.fixture
def networks(monkeypatch):
    """The modules of the folder, imported as its programs import them, and forgotten afterwards."""
    monkeypatch.syspath_prepend(FOLDER)
    yield argparse.Namespace(**{name: __import__(name) for name in (*MODULES, *NETWORKS)})
    for name in (*MODULES, *NETWORKS):
        sys.modules.pop(name, None)


def given(**options):
    return argparse.Namespace(**{"steps": 3, "checkpoint": None, "kernels": "numpy", **options})


@pytest.mark.parametrize("name", NETWORKS)
def test_the_number_of_parameters_is_that_of_the_authors_code(networks, name):
    """The paper gives no sizes of layers."""
    module = getattr(networks, name)
    parameters, _ = module.initial()
    assert networks.weights.count(parameters) == module.PARAMETERS


def test_the_readme_says_the_numbers_of_parameters(networks):
    text = (FOLDER / "README.md").read_text()
    for name in NETWORKS:
        assert f"| `{name}.py` |" in text
        assert f"{getattr(networks, name).PARAMETERS:,}" in text


# Formats


def test_images_are_written_and_read(networks, tmp_path):
    images = networks.images
    pixels, labels = images.synthetic(5)
    images.write(tmp_path / "batch.bin", pixels, labels)
    found = images.read(tmp_path / "batch.bin")
    assert (tmp_path / "batch.bin").stat().st_size == 5 * 3073
    assert np.array_equal(found.labels, labels)
    assert np.allclose(found.images * 255.0, pixels)
    batch = next(images.batches(tmp_path / "batch.bin", 2))
    assert batch.images.shape == (2, 3, 32, 32)
    assert batch.images.dtype == np.float32


def test_other_files_are_no_images(networks, tmp_path):
    (tmp_path / "short").write_bytes(bytes(3072))
    with pytest.raises(ValueError, match="3072 bytes"):
        networks.images.read(tmp_path / "short")
    (tmp_path / "class").write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(ValueError, match="class 10"):
        networks.images.read(tmp_path / "class")


def test_trees_are_written_and_read(networks, tmp_path):
    trees = networks.trees
    line = "(3 (2 It) (4 (4 (2 's) (3 a)) (4 delight)))"
    tree = trees.parse(line)
    assert trees.text(tree) == line
    assert [node.score for node in trees.nodes(tree)] == [2, 2, 3, 4, 4, 4, 3]
    forest = trees.synthetic(20)
    (tmp_path / "dev.txt").write_text("\n".join(map(trees.text, forest)), encoding="utf-8")
    assert trees.read(tmp_path / "dev.txt") == forest


@pytest.mark.parametrize(
    "line", ["", "3", "(3", "(3 (2 a))", "(5 a)", "(x a)", "(3 a) (2 b)", "(3 (2 a) b)", "(3 a))", "(3 a b)", "()"]
)
def test_other_lines_are_no_trees(networks, line):
    with pytest.raises(ValueError, match=r"token|no tree"):
        networks.trees.parse(line)


def test_synthetic_trees_have_the_statistics_that_are_said(networks):
    trees = networks.trees
    forest = trees.synthetic(300)
    words = [sum(node.word is not None for node in trees.nodes(tree)) for tree in forest]
    assert 18.0 < np.mean(words) < 20.0
    assert 1 <= min(words) <= max(words) <= 40
    scores = [node.score for tree in forest for node in trees.nodes(tree)]
    assert set(scores) == set(range(trees.SCORES))


def test_speech_is_written_and_read(networks, tmp_path):
    speech = networks.speech
    batches = speech.synthetic(3, 2, time=100, frequencies=21)
    speech.write(tmp_path / "speech.bin", batches)
    for found, batch in zip(speech.read(tmp_path / "speech.bin"), batches, strict=True):
        for x, y in zip(found, batch, strict=True):
            assert np.array_equal(x, y)
    (tmp_path / "cut.bin").write_bytes((tmp_path / "speech.bin").read_bytes()[:-4])
    with pytest.raises(ValueError, match="middle of a batch"):
        speech.read(tmp_path / "cut.bin")


# Networks


def test_trees_batched_by_height_have_the_same_gradient(networks):
    module, trees = networks.tree_lstm, networks.trees
    forest = [*trees.synthetic(6), trees.parse("(1 alone)")]
    vectors = module.vectors_of(forest, size=7)
    parameters, _ = module.initial(embedding=7, hidden=5)
    parameters = {name: x + 0.1 * np.random.default_rng(0).normal(size=x.shape) for name, x in parameters.items()}
    value, gradient = value_and_grad(module.loss_of)(parameters, vectors, forest)
    batched, of_batched = value_and_grad(module.batched_loss)(parameters, module.scheduled(vectors, forest))
    assert np.isclose(value, batched, rtol=1e-13)
    for name in parameters:
        np.testing.assert_allclose(of_batched[name], gradient[name], rtol=1e-10, atol=1e-12)


def small_speech(networks):
    module = networks.deepspeech2
    size = module.Size(frequencies=21, kernels=((7, 5), (3, 3)), channels=3, hidden=10, layers=2)
    return module.initial(size), module.loss_by(size), networks.speech.synthetic(2, 1, time=90, frequencies=21)[0]


def small_trees(networks):
    module = networks.tree_lstm
    forest = networks.trees.synthetic(3)
    vectors = module.vectors_of(forest, size=6)
    return module.initial(embedding=6, hidden=4), lambda p, b, batch: (module.loss_of(p, vectors, batch), b), forest


@pytest.mark.parametrize("small", [small_speech, small_trees])
def test_gradients_are_those_of_finite_differences(networks, small):
    (parameters, buffers), loss, batch = small(networks)
    parameters = {name: x.astype(float) for name, x in parameters.items()}
    (_, _), gradient = value_and_grad(loss, has_aux=True)(parameters, buffers, batch)
    direction = {name: np.random.default_rng(1).normal(size=x.shape) for name, x in parameters.items()}

    def along(step):
        return loss({name: x + step * direction[name] for name, x in parameters.items()}, buffers, batch)[0]

    expected = (along(1e-6) - along(-1e-6)) / 2e-6
    assert np.isclose(sum(np.sum(gradient[name] * direction[name]) for name in parameters), expected, rtol=1e-4)


@pytest.mark.parametrize("small", [small_speech, small_trees])
def test_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(networks, small, tmp_path, capsys):
    start, loss, batch = small(networks)
    step = networks.optimizers.adagrad(0.05)
    whole = networks.training.Training(*start)
    whole.run(loss, step, [batch] * 12, given(steps=12))
    file = tmp_path / "half.npz"
    networks.training.Training(*start).run(loss, step, [batch] * 12, given(steps=7, checkpoint=file))
    half = networks.training.begun(lambda: start, file)
    assert len(half.losses) == 7
    half.run(loss, step, [batch] * 12, given(steps=12, checkpoint=file))
    assert half.losses == whole.losses
    assert whole.losses[-1] < whole.losses[0]
    for name, x in whole.parameters.items():
        assert np.array_equal(half.parameters[name], x)
        assert half.parameters[name].dtype == x.dtype
    assert sorted(path.name for path in tmp_path.iterdir()) == ["half.npz"]
    assert networks.training.finish(half, None) == 0
    half.losses.reverse()
    assert networks.training.finish(half, None) == 1
    assert "HAS NOT FALLEN" in capsys.readouterr().out


def test_a_loss_that_is_not_finite_stops_training(networks):
    training = networks.training.Training({"w": np.array([0.0])})
    with pytest.raises(ArithmeticError, match="step 0: the loss is inf"), np.errstate(divide="ignore"):
        training.step(lambda p, b, batch: (np.sum(1.0 / p["w"]), b), networks.optimizers.sgd(0.1), None)


def test_optimisers(networks):
    p, g = {"w": np.array([1.0, 2.0])}, {"w": np.array([0.5, -3.0])}
    once, state = networks.optimizers.sgd(0.1, momentum=0.9)(p, g, {})
    twice, _ = networks.optimizers.sgd(0.1, momentum=0.9)(once, g, state)
    assert np.allclose(once["w"], p["w"] - 0.1 * g["w"])
    assert np.allclose(twice["w"], once["w"] - 0.1 * 1.9 * g["w"])
    nesterov, _ = networks.optimizers.sgd(0.1, momentum=0.9, nesterov=True, clip=1.0)(p, g, {})
    assert np.allclose(nesterov["w"], p["w"] - 0.1 * 1.9 * np.clip(g["w"], -1.0, 1.0))
    adapted, _ = networks.optimizers.adagrad(0.1)(p, g, {})
    assert np.allclose(adapted["w"], p["w"] - 0.1 * np.sign(g["w"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_of_images_the_loss_of_one_batch_falls(networks, name):
    module = getattr(networks, name)
    training = networks.training.Training(*module.initial())
    batch = next(networks.images.batches(None, 4))
    options = given(steps=4, kernels=networks.training.fastest_kernels())
    training.run(module.loss, networks.optimizers.sgd(0.005), [batch] * 4, options)
    assert training.losses[-1] < 0.9 * training.losses[0]
    assert all(x.dtype == np.float32 for x in training.parameters.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_to_save_memory_changes_no_gradient(networks, name):
    module = getattr(networks, name)
    parameters, buffers = module.initial()
    batch = next(networks.images.batches(None, 2))

    def loss(p, saves_memory):
        if name == "squeezenet":
            return nn.cross_entropy(module.scores(p, batch.images, saves_memory), batch.labels)
        return nn.cross_entropy(module.scores(p, buffers, batch.images, True, saves_memory)[0], batch.labels)

    with nn.kernels(networks.training.fastest_kernels()):
        value, gradient = value_and_grad(loss)(parameters, False)
        again, of_saving = value_and_grad(loss)(parameters, True)
    assert np.isclose(value, again)
    for key in parameters:
        np.testing.assert_allclose(of_saving[key], gradient[key], rtol=1e-3, atol=1e-5)


COMMANDS = (
    "tree_lstm.py --steps 20 --batched",
    "tree_lstm.py --steps 12",
    "deepspeech2.py --small",
    "squeezenet.py --steps 6",
    "resnet50.py --steps 4 --data eight.bin",
)


def test_every_network_is_run():
    assert {command.split(".")[0] for command in COMMANDS} == set(NETWORKS)
    assert {path.stem for path in FOLDER.glob("*.py")} == {*MODULES, *NETWORKS}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_programs(networks, command, tmp_path):
    program, *options = command.split()
    networks.images.write(tmp_path / "eight.bin", *networks.images.synthetic(8))  # one batch, again and again
    output = run_example(f"networks/{program}", *options, "--checkpoint", "kept.npz", folder=tmp_path)
    assert "parameters" in output
    assert "at the beginning" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["eight.bin", "kept.npz"]
