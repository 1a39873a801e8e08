"""The parts of report.py: finished runs, a test set that each model translates once, and the page about them."""
