"""Text of which models make one side: who makes it, how it is kept, and recipes that name it."""
