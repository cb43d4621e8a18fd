"""Which sentences of the contexts a question needs: methods, evidence and the compressed text."""
