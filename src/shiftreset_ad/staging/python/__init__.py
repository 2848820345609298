"""The back end: steps become Python source."""
