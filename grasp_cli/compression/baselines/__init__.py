"""Published compressors and simple ones, to compare with; one file each, listed in `registry`."""
