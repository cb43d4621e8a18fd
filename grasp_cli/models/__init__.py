"""Models: where their weights are, how they are loaded and run."""
