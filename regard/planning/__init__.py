"""What a run will take, measured by a few of its steps: memory, speed, time and disk, before it is begun."""

STEPS = 10
"""Steps that are measured, if nothing else is asked for."""
