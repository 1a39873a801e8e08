"""What commands do where that takes more than one part: files and lines through models, corpora and metrics."""
