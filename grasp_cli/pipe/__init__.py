"""The record contract, JSONL streams, the stage engine and the error tree."""
