"""Models on their way to other engines and back: a module for each format, one for checks, one for the report."""
