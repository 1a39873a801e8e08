"""From a model to text: greedy and beam search, written once for every model."""
