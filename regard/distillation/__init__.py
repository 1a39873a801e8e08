"""A student learns what a teacher says: sequence-level distillation, from translations to a measured model."""
