"""Language models that answer a question from a context."""
