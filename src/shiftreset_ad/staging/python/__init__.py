"""Steps as Python source."""
