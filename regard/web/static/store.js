// A small store: a state that is replaced, never changed in place, and listeners who hear which keys changed.

/** Make a store with `get()`, `set(patch)` and `listen(keys, listener)`, which gives back a function that ends it. */
export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  const listeners = new Set();
  return {
    get: () => state,
    set(patch) {
      const changed = Object.keys(patch).filter((key) => !Object.is(state[key], patch[key]));
      if (!changed.length) return;
      state = Object.freeze({ ...state, ...patch });
      for (const { keys, listener } of [...listeners]) {
        if (keys.some((key) => changed.includes(key))) listener(state);
      }
    },
    listen(keys, listener) {
      const entry = { keys, listener };
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
}

/** A store seen by one view: `release()` ends all that the view listened to. */
export function scoped(store) {
  const ends = [];
  return {
    ...store,
    listen: (keys, listener) => ends.push(store.listen(keys, listener)),
    release: () => ends.splice(0).forEach((end) => end()),
  };
}

/** A value kept by the browser, or `fallback` where it keeps none (a private window, a page from the disk). */
export function recall(name, fallback, storage = "localStorage") {
  try {
    const text = window[storage].getItem(`regard.${name}`);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

/** Keep a value in the browser, where it lets us. */
export function remember(name, value, storage = "localStorage") {
  try {
    window[storage].setItem(`regard.${name}`, JSON.stringify(value));
  } catch {
    // What cannot be kept is asked again next time.
  }
}
