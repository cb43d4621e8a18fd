"""What a job must survive: kills, nonsense, faults and size. `make soak` runs all of it whole.

`make test` runs the short forms in `test_soak`; `python -m tests.soak.run --help` says the sizes.
"""
