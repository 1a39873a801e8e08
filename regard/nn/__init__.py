"""Parts of networks: attention, masks, positions, feed-forward, embeddings, dropout."""
