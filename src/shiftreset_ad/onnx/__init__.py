"""Networks in the ONNX format, read as plain Python functions that every operator of this library differentiates."""

from shiftreset_ad.onnx.reading import from_onnx

__all__ = ["from_onnx"]
