"""Plain text, before and after a model: words, terms, spans to keep, sentences and documents."""
