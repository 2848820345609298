"""Images in CIFAR-10's binary format: for each, a byte for the class, and 3 x 32 x 32 bytes of red, green and blue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

CLASSES, CHANNELS, SIDE = 10, 3, 32
RECORD = 1 + CHANNELS * SIDE * SIDE  # bytes


class Batch(NamedTuple):
    """Images (batch, 3, 32, 32), from 0 to 1 in single precision, and their classes (batch,)."""

    images: np.ndarray
    labels: np.ndarray


def read(file: Path) -> Batch:
    """All images of a file. ValueError if it is not of this format."""
    records = np.fromfile(file, np.uint8)
    if not records.size or records.size % RECORD:
        raise ValueError(
            f"{file} has {records.size} bytes, and each image has {RECORD}: it is not CIFAR-10's binary version"
        )
    records = records.reshape(-1, RECORD)
    if records[:, 0].max() >= CLASSES:
        raise ValueError(f"{file} has an image of the class {records[:, 0].max()}, and there are {CLASSES}")
    pixels = records[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE)
    return Batch((pixels / 255.0).astype(np.float32), records[:, 0].astype(np.int64))


def write(file: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """Write images, of bytes, and their classes in this format."""
    np.concatenate([labels.astype(np.uint8)[:, None], images.reshape(len(images), -1)], axis=1).tofile(file)


def synthetic(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images of bytes whose class is the direction and the colour of their stripes, and their classes."""
    random = np.random.default_rng(seed)
    labels = random.integers(CLASSES, size=count)
    angles = labels * np.pi / CLASSES
    rows, columns = np.mgrid[:SIDE, :SIDE]
    phases = random.uniform(0.0, 2.0 * np.pi, (count, 1, 1))
    waves = np.cos(0.9 * (np.cos(angles)[:, None, None] * rows + np.sin(angles)[:, None, None] * columns) + phases)
    colours = 0.5 + 0.5 * np.cos(angles[:, None] + np.array([0.0, 2.0, 4.0]))
    images = (
        128.0
        + 100.0 * colours[:, :, None, None] * waves[:, None]
        + random.normal(0.0, 10.0, (count, CHANNELS, SIDE, SIDE))
    )
    return np.clip(images, 0, 255).astype(np.uint8), labels


def batches(data: Path | None, size: int, seed: int = 42) -> Iterator[Batch]:
    """Batches of images in a random order, over and over: of a file, or synthetic ones."""
    if data is None:
        images, labels = synthetic(2 * size)  # few, so that a short run can learn them
        found = Batch((images / 255.0).astype(np.float32), labels)
    else:
        found = read(data)
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(found.labels))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield Batch(found.images[chosen], found.labels[chosen])
