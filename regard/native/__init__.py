"""Loops in C for what a matrix library does badly; compiled where they run, and left out where that cannot be."""
