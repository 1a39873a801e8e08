"""Explanations made up by rule: every array has the shape, and every number the bounds, that real ones have."""

import base64
import math

import numpy as np

SOURCE = "The animal didn't cross the street because it was too tired."
TARGET = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
END = "</s>"


def explanation(
    source=SOURCE,
    target=TARGET,
    *,
    forced=False,
    finished=True,
    own=TARGET,
    layers=(2, 2),
    heads=4,
    width=32,
    languages=("en", "fr"),
    seed=1,
):
    """An explanation of a pair, as the service answers it; `own` is what the model would say, where it is forced."""
    random = np.random.default_rng(seed)
    source_side, target_side = _side(source), _side(target)
    size, length = len(source_side["tokens"]), len(target_side["tokens"])
    encoder, decoder = layers
    others = [own, f"{own} (2)"] if forced else [f"{target} (2)", f"{target} (3)"]
    steps = [_step(token, random) for token in target_side["tokens"]]
    return {
        "format": "regard-explanation",
        "version": 1,
        "model": {
            "name": "demo",
            "source_language": languages[0],
            "target_language": languages[1],
            "encoder_layers": encoder,
            "decoder_layers": decoder,
            "heads": heads,
            "width": width,
            "parameters": 1_234_567,
            "positions": "sinusoidal",
        },
        "source": {"text": source, **source_side},
        "target": {
            "text": target,
            **target_side,
            "read": ["<s>", *target_side["tokens"][:-1]],
            "forced": forced,
            "finished": finished,
        },
        "attention": {
            "encoder": _packed(_attention(random, encoder, heads, size, size)),
            "decoder": _packed(_attention(random, decoder, heads, length, length, causal=True)),
            "cross": _packed(_attention(random, decoder, heads, length, size)),
        },
        "steps": steps,
        "beam": None if forced else {"size": 3, "nodes": _beam(steps)},
        "attribution": _attribution(random, length, size),
        "positions": _packed(_sinusoids(50, width)) | {"kind": "sinusoidal"},
        "alternatives": [{"text": text, "score": -0.2 - 0.1 * rank} for rank, text in enumerate(others)],
    }


def _side(text):
    """Tokens of at most five characters, and the words that they spell."""
    tokens, words = [], []
    for word in text.split():
        pieces = ["▁" + word[:5], *([word[5:]] if word[5:] else [])]
        words.append({"text": word, "start": len(tokens), "stop": len(tokens) + len(pieces)})
        tokens += pieces
    words.append({"text": END, "start": len(tokens), "stop": len(tokens) + 1})
    return {"tokens": [*tokens, END], "words": words}


def _packed(values):
    low, high = float(values.min()), float(values.max())
    numbers = np.round((values - low) / ((high - low) or 1) * 65535).astype("<u2")
    text = base64.b64encode(numbers.tobytes()).decode()
    return {"shape": list(values.shape), "minimum": low, "maximum": high, "uint16": text}


def _attention(random, layers, heads, rows, columns, causal=False):
    """Each head looks at a place at a fixed distance from the diagonal, some more sharply than others."""
    weights = np.zeros((layers, heads, rows, columns))
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    for layer in range(layers):
        for head in range(heads):
            centre = row * (columns - 1) / max(1, rows - 1) + head - 1.5 + layer
            scores = -np.abs(column - centre) * (0.3 + head * 0.7) + random.normal(0, 0.5, (rows, columns))
            if causal:
                scores = np.where(column <= row, scores, -np.inf)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights[layer, head] = scores / scores.sum(axis=-1, keepdims=True)
    return weights


def _attribution(random, length, size):
    source = random.random((length, size)) ** 3
    target = np.tril(random.random((length, length))) ** 3
    total = source.sum(axis=1, keepdims=True) + target.sum(axis=1, keepdims=True)
    return {
        "method": "input times gradient",
        "source": _packed(source / total),
        "target": _packed(target / total),
    }


def _step(token, random):
    first = float(0.45 + 0.5 * random.random())
    rest = [(1 - first) * 0.5**place for place in range(1, 6)]
    others = ["▁le", "▁la", "▁un", "s", "▁très"]
    candidates = [{"token": token, "probability": first}]
    candidates += [{"token": other, "probability": share} for other, share in zip(others, rest, strict=True)]
    entropy = -sum(one["probability"] * math.log(one["probability"]) for one in candidates)
    return {
        "token": token,
        "log_probability": math.log(first),
        "rank": 1,
        "entropy": entropy,
        "candidates": candidates,
    }


def _beam(steps, size=3):
    """The result, its rivals at each step, and one other hypothesis that is finished early."""
    nodes = [_node(-1, 0, "<s>", 0.0, best=True)]
    beam = [0]
    for number, step in enumerate(steps, start=1):
        grown = []
        for place, parent in enumerate(beam):
            for candidate in step["candidates"][:2]:
                total = nodes[parent]["log_probability"] + math.log(candidate["probability"]) - 0.2 * place
                grown.append((parent, candidate["token"], total))
        grown.sort(key=lambda one: -one[2])
        first = len(nodes)
        for rank, (parent, token, total) in enumerate(grown[: 2 * size]):
            finished = token == END or (number == 5 and rank == 2)
            kept = rank < size and not (finished and token != END)
            best = rank == 0 and nodes[parent]["best"]
            nodes.append(_node(parent, number, END if finished else token, total, kept, finished, best))
        beam = [first + rank for rank in range(min(size, len(grown))) if not nodes[first + rank]["finished"]] or beam
    return nodes


def _node(parent, step, token, total, kept=True, finished=False, best=False):
    return {
        "parent": parent,
        "step": step,
        "token": token,
        "log_probability": total,
        "kept": kept,
        "finished": finished,
        "best": best,
    }


def _sinusoids(positions, width):
    angle = np.arange(positions)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(positions, width)
