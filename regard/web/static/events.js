// Server-sent events, read from a body that arrives in pieces.

/** A parser: `push(text)` gives the events that are complete, each {event, data: text}. */
export function createEventParser() {
  let rest = "";
  let event = "message";
  let data = [];
  const found = [];

  function line(text) {
    if (text === "") {
      if (data.length) found.push({ event, data: data.join("\n") });
      event = "message";
      data = [];
      return;
    }
    const colon = text.indexOf(":");
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }

  return {
    push(text) {
      rest += text;
      // A carriage return at the end may be the first half of a line's end: it waits for the next piece.
      const held = rest.endsWith("\r") ? "\r" : "";
      const lines = rest.slice(0, rest.length - held.length).split(/\r\n|\n|\r/);
      rest = lines.pop() + held;
      lines.forEach(line);
      return found.splice(0);
    },
  };
}
