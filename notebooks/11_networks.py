# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     notebook_metadata_filter: -jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Networks: functions of parameters
#
# A network is a function. Its parameters are an argument, and `value_and_grad` answers the derivative in all of them.
# So there are no layer objects here: `nn` has functions, with PyTorch's conventions, and a program that calls them is
# an ordinary Python program. This notebook trains a small convolutional network, looks inside it, trains a network
# that follows trees by recursion, and reads a network from a file in the ONNX format.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnx
from sklearn.datasets import load_digits

from shiftreset_ad import grad, nn, optimize, value_and_grad, vmap
from shiftreset_ad.onnx import from_onnx

# %% [markdown]
# ## 1. A convolutional network
#
# The data are 1,797 handwritten digits of 8 by 8 pixels, which come with scikit-learn. A network takes a batch of
# pictures of shape (pictures, channels, height, width).

# %%
digits = load_digits()
pictures, labels = digits.images[:, None] / 16.0, digits.target
order = np.random.default_rng(0).permutation(len(pictures))
train, test = order[:1400], order[1400:]

figure, panels = plt.subplots(1, 10, figsize=(8, 1.1), layout="constrained")
for digit, panel in enumerate(panels):
    panel.imshow(pictures[train][labels[train] == digit][0, 0], cmap="gray_r")
    panel.set(title=digit, xticks=[], yticks=[])
plt.show()

# %% [markdown]
# The parameters are a dictionary of arrays. The network has two rounds of three steps: a convolution, the greater of
# each number and 0, and the greatest of four neighbours. So 8 by 8 pixels become 16 channels of 2 by 2, and a linear
# map gives the scores of the ten digits.


# %%
def layer(random, *shape):
    """Weights of a size that keeps the numbers of the next layer near 1 (He et al., 2015)."""
    return random.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))


def first_parameters(seed=1):
    random = np.random.default_rng(seed)
    return {
        "first": layer(random, 8, 1, 3, 3),
        "first.bias": np.zeros(8),
        "second": layer(random, 16, 8, 3, 3),
        "second.bias": np.zeros(16),
        "scores": layer(random, 10, 64),
        "scores.bias": np.zeros(10),
    }


def network(p, x):
    x = nn.max_pool(nn.relu(nn.conv(x, p["first"], p["first.bias"], padding=1)), 2)
    x = nn.max_pool(nn.relu(nn.conv(x, p["second"], p["second.bias"], padding=1)), 2)
    return nn.linear(x.reshape(len(x), -1), p["scores"], p["scores.bias"])


def loss(p, x, y):
    return nn.cross_entropy(network(p, x), y)


# %% [markdown]
# A step of training is the derivative for a batch, and a step of an optimiser.


# %%
def train_on(batches, loss, p, rate=0.01):
    adam, losses = optimize.adam(rate), []
    state = adam.init(p)
    for batch in batches:
        now, gradient = value_and_grad(loss)(p, *batch)
        p, state = adam.step(gradient, p, state)
        losses.append(float(now))
    return p, losses


random = np.random.default_rng(2)
chosen = [random.choice(train, 64, replace=False) for _ in range(150)]
p, losses = train_on([(pictures[k], labels[k]) for k in chosen], loss, first_parameters())
right = np.argmax(network(p, pictures[test]), axis=1) == labels[test]
f"{np.mean(right):.1%} of the digits that it has not seen"

# %%
assert np.mean(right) > 0.95

# %%
figure, panel = plt.subplots(figsize=(4.6, 2.4), layout="constrained")
panel.semilogy(losses, color="tab:blue")
panel.set(xlabel="step", ylabel="loss of the batch")
plt.show()

# %% [markdown]
# ## 2. Look inside
#
# The derivative need not be in the parameters. The gradient of a score *in the picture* says which pixels speak for a
# digit (red: more ink there would raise the score), and which against it (blue).


# %%
def score(x, digit):
    return network(p, x[None])[0, digit]


examples = [next(k for k in test if labels[k] == digit) for digit in (0, 3, 5, 7, 8)]
for_pixels = [grad(score)(pictures[k], labels[k])[0] for k in examples]

figure, panels = plt.subplots(2, 5, figsize=(6.4, 2.8), layout="constrained")
for k, slopes, (above, below) in zip(examples, for_pixels, panels.T, strict=True):
    above.imshow(pictures[k, 0], cmap="gray_r")
    below.imshow(slopes, cmap="RdBu_r", vmin=-abs(slopes).max(), vmax=abs(slopes).max())
    above.set(title=labels[k], xticks=[], yticks=[])
    below.set(xticks=[], yticks=[])
plt.show()

# %% [markdown]
# The same gradient finds the weakness of a network. Each pixel moves by at most 0.1, in the direction that raises the
# loss most (Goodfellow, Shlens and Szegedy, 2015). Noise of the same size hardly matters; this step does.

# %%
against = np.sign(grad(loss, argnums=1)(p, pictures[test], labels[test]))
noise = np.sign(np.random.default_rng(3).normal(size=against.shape))


def share_right(x):
    return float(np.mean(np.argmax(network(p, x), axis=1) == labels[test]))


share_right(pictures[test]), share_right(pictures[test] + 0.1 * noise), share_right(pictures[test] + 0.1 * against)

# %%
assert share_right(pictures[test] + 0.1 * noise) > share_right(pictures[test] + 0.1 * against) + 0.1

# %% [markdown]
# Which digits of the training set pull at the parameters most? `vmap` answers the gradient of each digit for itself. A
# long gradient belongs to a picture that the network does not expect: bad handwriting, or a wrong label.


# %%
def own_loss(p, x, y):
    return loss(p, x[None], y[None])


own_gradients = vmap(grad(own_loss), in_axes=(None, 0, 0))(p, pictures[train], labels[train])
lengths = np.sqrt(sum(np.sum(g.reshape(len(train), -1) ** 2, axis=1) for g in own_gradients.values()))

figure, panels = plt.subplots(1, 8, figsize=(7.4, 1.3), layout="constrained")
for panel, place in zip(panels, np.argsort(-lengths), strict=False):
    told = int(np.argmax(network(p, pictures[train[place]][None])))
    panel.imshow(pictures[train[place], 0], cmap="gray_r")
    panel.set_title(f"{labels[train[place]]}, told {told}", fontsize=8)
    panel.set(xticks=[], yticks=[])
plt.show()

# %%
whole = grad(loss)(p, pictures[train], labels[train])
for name, own in own_gradients.items():
    np.testing.assert_allclose(np.mean(own, axis=0), whole[name], rtol=1e-8, atol=1e-10)

# %% [markdown]
# ## 3. A network that follows trees
#
# A sentence, a formula or a program is a tree, and each tree has its own form. A tree LSTM (Tai, Socher and Manning,
# 2015) has a state for each node, made of the states of its children. Here the trees are logical expressions, and the
# network has to tell whether an expression is true. It sees the truth of whole expressions alone; nobody tells it what
# "and" or "xor" means.


# %%
OPERATORS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def expression(random, leaves):
    """A random tree: True or False, or (operator, left, right)."""
    if leaves == 1:
        return bool(random.integers(2))
    cut = int(random.integers(1, leaves))
    return str(random.choice(list(OPERATORS))), expression(random, cut), expression(random, leaves - cut)


def truth(tree):
    if isinstance(tree, bool):
        return tree
    operator, left, right = tree
    return bool(OPERATORS[operator](truth(left), truth(right)))


random = np.random.default_rng(4)
tree = expression(random, 5)
tree, truth(tree)

# %% [markdown]
# The network is a recursion, as `truth` is. Python's own stack of calls holds what waits, and the way back goes through
# the tree in the other direction.

# %%
SIZE = 16


def first_tree_parameters(seed=5):
    random = np.random.default_rng(seed)
    p = {"leaf": random.normal(size=(2, 2 * SIZE)) / 2, "truth": layer(random, 2, SIZE), "truth.bias": np.zeros(2)}
    for operator in OPERATORS:
        p |= {operator: layer(random, 5 * SIZE, 2 * SIZE), f"{operator}.bias": np.zeros(5 * SIZE)}
    return p


def state(p, tree):
    """The hidden state of a tree, and its memory cell."""
    if isinstance(tree, bool):
        return np.tanh(p["leaf"][int(tree)][:SIZE]), p["leaf"][int(tree)][SIZE:]
    operator, left, right = tree
    (left_hidden, left_cell), (right_hidden, right_cell) = state(p, left), state(p, right)
    children = np.concatenate([left_hidden, right_hidden])
    gates = nn.linear(children, p[operator], p[f"{operator}.bias"])
    opened, new = nn.sigmoid(gates[: 4 * SIZE]), np.tanh(gates[4 * SIZE :])
    take, keep_left, keep_right, show = (opened[k * SIZE : (k + 1) * SIZE] for k in range(4))
    cell = take * new + keep_left * left_cell + keep_right * right_cell
    return show * np.tanh(cell), cell


def tell(p, trees):
    hidden = np.stack([state(p, tree)[0] for tree in trees])
    return nn.linear(hidden, p["truth"], p["truth.bias"])


def tree_loss(p, trees):
    return nn.cross_entropy(tell(p, trees), [int(truth(tree)) for tree in trees])


# %%
batches = [([expression(random, int(random.integers(1, 8))) for _ in range(24)],) for _ in range(150)]
q, losses = train_on(batches, tree_loss, first_tree_parameters())
losses[0], losses[-1]

# %% [markdown]
# It has seen expressions of up to seven leaves. If it has learnt the rules and not the expressions, it is right about
# larger ones, too.

# %%
for leaves in (4, 16, 64):
    trees = [expression(random, leaves) for _ in range(100)]
    share = np.mean(np.argmax(tell(q, trees), axis=1) == [truth(tree) for tree in trees])
    print(f"{leaves:2} leaves: {share:.0%} right")
    assert share > 0.97

# %% [markdown]
# What has it learnt? Here are the states of all nodes of forty large expressions, in the two directions in which they
# differ most. The network has put together what is equal in meaning.


# %%
def nodes(tree):
    if not isinstance(tree, bool):
        yield from nodes(tree[1])
        yield from nodes(tree[2])
    yield tree


inner = [node for _ in range(40) for node in nodes(expression(random, 30)) if not isinstance(node, bool)]
hidden = np.stack([state(q, node)[0] for node in inner])
directions = np.linalg.svd(hidden - hidden.mean(axis=0), full_matrices=False)[2][:2]
x, y = directions @ (hidden - hidden.mean(axis=0)).T
is_true = np.array([truth(node) for node in inner])

figure, panel = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
for operator, marker in zip(OPERATORS, "o^s", strict=True):
    for value, colour in ((True, "tab:green"), (False, "tab:red")):
        where = (is_true == value) & np.array([node[0] == operator for node in inner])
        panel.scatter(x[where], y[where], s=14, marker=marker, color=colour, label=f"{operator}: {value}")
panel.set(xlabel="first direction", ylabel="second direction")
panel.legend(fontsize=7)
plt.show()

# %% [markdown]
# `examples/networks/tree_lstm.py` is the same network for sentences, in the format of the Stanford Sentiment Treebank,
# and works on the nodes of equal height of many trees at once.
#
# ## 4. A network from a file
#
# PyTorch and others write networks in the ONNX format. To have such a file here, the next cell writes the network of
# section 1, as a tool for export would do.

# %%
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
digits (float[N, 1, 8, 8] picture) => (float[N, 10] scores)
{
    a = Conv <pads = [1, 1, 1, 1]> (picture, first, first_bias)
    b = Relu (a)
    c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
    d = Conv <pads = [1, 1, 1, 1]> (c, second, second_bias)
    e = Relu (d)
    f = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (e)
    g = Flatten (f)
    scores = Gemm <transB = 1> (g, scores_weight, scores_bias)
}"""
names = {"scores": "scores_weight"} | {name: name.replace(".", "_") for name in p if name != "scores"}
model = onnx.parser.parse_model(TEXT)
for name, array in p.items():
    model.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), names[name]))
file = Path(tempfile.mkdtemp()) / "digits.onnx"
onnx.save(model, file)
f"{file.stat().st_size:,} bytes"

# %% [markdown]
# `from_onnx` answers a plain Python function of parameters and inputs, and the parameters of the file.

# %%
f, parameters = from_onnx(file)
{name: array.shape for name, array in parameters.items()}

# %%
x = pictures[test].astype(np.float32)
np.testing.assert_allclose(f(parameters, x), network(p, pictures[test]), rtol=1e-4, atol=1e-4)

# %% [markdown]
# All operators take this function. Let us make the network hold against the step of section 2: it trains on further
# pictures, which are moved against itself as it is at each step.


# %%
def file_loss(parameters, x, y):
    return nn.cross_entropy(f(parameters, x), y)


def moved(parameters, x, y):
    return x + np.float32(0.1) * np.sign(grad(file_loss, argnums=1)(parameters, x, y))


def share_under_attack(parameters):
    told = np.argmax(f(parameters, moved(parameters, x, labels[test])), axis=1)
    return float(np.mean(told == labels[test]))


adam, stronger = optimize.adam(0.003), parameters
adam_state = adam.init(stronger)
for k in chosen:
    batch = pictures[k].astype(np.float32)
    slopes = grad(file_loss)(stronger, moved(stronger, batch, labels[k]), labels[k])
    stronger, adam_state = adam.step(slopes, stronger, adam_state)
share_under_attack(parameters), share_under_attack(stronger)

# %%
assert share_under_attack(stronger) > share_under_attack(parameters) + 0.1

# %% [markdown]
# ## Exercises
#
# 1. Begin with a grey picture, and go up the gradient of the score of a digit in the picture. What does the network of
#    section 1 take for a perfect 3?
# 2. Let each channel of the first layer have mean 0 and variance 1 over the batch before `nn.relu`: `nn.batch_norm`
#    with the mean and the variance of the batch. Does the loss fall faster?
# 3. Add the operator "implies" to section 3, whose children may not change places. Is the network right about trees of
#    16 leaves?
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. Something with two open bows on the left, at best.
perfect = np.full((1, 8, 8), 0.5)
for _ in range(100):
    perfect = np.clip(perfect + 0.05 * grad(score)(perfect, 3), 0.0, 1.0)
assert np.argmax(network(p, perfect[None])) == 3
figure, panel = plt.subplots(figsize=(1.3, 1.3), layout="constrained")
panel.imshow(perfect[0], cmap="gray_r")
panel.set(xticks=[], yticks=[])
plt.show()


# %% jupyter={"source_hidden": true}
# 2. It does, at first.
def normal_network(p, x):
    a = nn.conv(x, p["first"], p["first.bias"], padding=1)
    a = nn.batch_norm(a, np.mean(a, axis=(0, 2, 3)), np.var(a, axis=(0, 2, 3)))
    a = nn.max_pool(nn.relu(a), 2)
    a = nn.max_pool(nn.relu(nn.conv(a, p["second"], p["second.bias"], padding=1)), 2)
    return nn.linear(a.reshape(len(a), -1), p["scores"], p["scores.bias"])


def normal_loss(p, x, y):
    return nn.cross_entropy(normal_network(p, x), y)


early = [(pictures[k], labels[k]) for k in chosen[:40]]
plain, normal = (train_on(early, each, first_parameters())[1] for each in (loss, normal_loss))
assert np.mean(normal[-10:]) < np.mean(plain[-10:])
float(np.mean(plain[-10:])), float(np.mean(normal[-10:]))

# %% jupyter={"source_hidden": true}
# 3. It is.
OPERATORS["implies"] = lambda left, right: not left or right
batches = [([expression(random, int(random.integers(1, 8))) for _ in range(24)],) for _ in range(200)]
r, losses = train_on(batches, tree_loss, first_tree_parameters())
trees = [expression(random, 16) for _ in range(100)]
share = np.mean(np.argmax(tell(r, trees), axis=1) == [truth(tree) for tree in trees])
assert share > 0.95
float(share)
