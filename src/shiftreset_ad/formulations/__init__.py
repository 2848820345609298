"""The papers' other formulations."""
