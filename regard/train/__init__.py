"""Learning: objective, optimiser, schedule, loop, checkpoints."""
