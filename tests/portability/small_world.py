"""Sentences of a small world, in two languages."""

ENGLISH = [
    f"{who} {verb} {number} {what} in the garden."
    for who in ("the cat", "a dog", "my friend")
    for verb in ("sees", "takes", "likes", "finds")
    for number in (2, 3, 5, 17)
    for what in ("apples", "birds")
]
GERMAN = [line.replace("the ", "die ").replace("garden", "Garten").replace("apples", "Äpfel") for line in ENGLISH]
