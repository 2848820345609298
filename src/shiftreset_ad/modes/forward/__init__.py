"""Forward mode: numbers that carry a tangent."""
