"""How good answers, evidence and savings are: metrics per record, and their means."""
