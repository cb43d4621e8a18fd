"""One file per verb: options, a call, and what is shown."""
