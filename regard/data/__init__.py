"""Corpora in, batches out: reading, checking, tokenizing, bucketing, and the built-in grammar."""
