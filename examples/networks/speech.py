"""Batches of spectrograms and labels, in the format of the files that Wang et al. (2019) made of LibriSpeech.

A file begins with the size and the number of its batches. Each batch has the number of frequencies, the longest time,
the spectrograms in single precision, the share of the longest time that each takes, the lengths of the labellings, and
the labels one after the other. All integers have 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

ALPHABET = "_'ABCDEFGHIJKLMNOPQRSTUVWXYZ "  # the first is the blank
FREQUENCIES = 161  # of a window of 20 ms at 16 kHz


class Batch(NamedTuple):
    """Spectrograms (batch, 1, frequencies, time), their shares of the time, and labels (batch, labels)."""

    inputs: np.ndarray
    shares: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray  # of the labellings, which are padded with 0


def read(file: Path) -> list[Batch]:
    """The batches of a file. ValueError if it ends too early."""
    content = memoryview(file.read_bytes())

    def take(dtype: type, count: int) -> np.ndarray:
        nonlocal content
        size = count * np.dtype(dtype).itemsize
        if size > len(content):
            raise ValueError(f"{file} ends in the middle of a batch")
        found, content = np.frombuffer(content[:size], dtype), content[size:]
        return found

    size, number = take(np.int32, 2)
    batches = []
    for _ in range(number):
        frequencies, longest = take(np.int32, 2)
        inputs = take(np.float32, size * frequencies * longest).reshape(size, 1, frequencies, longest)
        shares, lengths = take(np.float32, size), take(np.int32, size)
        labels = np.zeros((size, max(int(lengths.max()), 1)), np.int64)
        for row, length in zip(labels, lengths, strict=True):
            row[:length] = take(np.int32, int(length))
        batches.append(Batch(inputs, shares, labels, lengths.astype(np.int64)))
    return batches


def write(file: Path, batches: list[Batch]) -> None:
    """Write batches of one size in this format."""
    with file.open("wb") as stream:
        np.array([len(batches[0].inputs), len(batches)], np.int32).tofile(stream)
        for batch in batches:
            np.array(batch.inputs.shape[2:], np.int32).tofile(stream)
            batch.inputs.astype(np.float32).tofile(stream)
            batch.shares.astype(np.float32).tofile(stream)
            batch.lengths.astype(np.int32).tofile(stream)
            for row, length in zip(batch.labels, batch.lengths, strict=True):
                row[:length].astype(np.int32).tofile(stream)


def synthetic(size: int, number: int, time: int = 200, frequencies: int = FREQUENCIES, seed: int = 0) -> list[Batch]:
    """Spectrograms in which each letter sounds for 20 to 40 windows, at a frequency of its own."""
    random = np.random.default_rng(seed)
    batches = []
    for _ in range(number):
        inputs = random.normal(0.0, 0.1, (size, 1, frequencies, time))
        labels, ends = [], []
        for spectrogram in inputs[:, 0]:
            letters, start = [], 0
            while start + 40 <= time:
                letter, length = int(random.integers(1, len(ALPHABET))), int(random.integers(20, 41))
                band = (letter * frequencies) // (len(ALPHABET) + 1)
                spectrogram[band : band + 4, start : start + length] += 2.0
                letters.append(letter)
                start += length
            labels.append(letters)
            ends.append(start)
        lengths = np.array(list(map(len, labels)))
        padded = np.zeros((size, lengths.max()), np.int64)
        for row, letters in zip(padded, labels, strict=True):
            row[: len(letters)] = letters
        batches.append(Batch(inputs.astype(np.float32), np.array(ends, np.float32) / time, padded, lengths))
    return batches


def over_and_over(batches: list[Batch]) -> Iterator[Batch]:
    """The batches, again and again."""
    while True:
        yield from batches
