"""The systems that train_speed.py compares: one small script each, and what they share."""
