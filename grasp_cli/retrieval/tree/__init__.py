"""Documents as binary trees over chunks of sentences, searched at all levels (SproutRAG)."""
