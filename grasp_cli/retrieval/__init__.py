"""Documents to an index, questions to passages: BM25, dense vectors and their fusion."""
