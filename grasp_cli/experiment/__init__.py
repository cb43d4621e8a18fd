"""Datasets × methods × reader from one file into one folder, and the report on them."""
