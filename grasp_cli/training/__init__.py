"""Training of the project's own models."""
