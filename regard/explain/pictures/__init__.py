"""What lectures on the Transformer draw, drawn from this code: positions, schedules, masks, curves, embeddings."""
