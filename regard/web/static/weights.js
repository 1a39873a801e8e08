// Arithmetic on attention: packed arrays, heads, means and maxima, whole words. A matrix is {rows, columns, values}.

/** Unpack {shape, minimum, maximum, uint16 in base64} to {shape, values: Float32Array}. */
export function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.uint16), (character) => character.charCodeAt(0));
  const size = packed.shape.reduce((product, length) => product * length, 1);
  if (bytes.length !== 2 * size) throw new Error(`${bytes.length} bytes for an array of ${size} numbers`);
  const view = new DataView(bytes.buffer);
  const step = (packed.maximum - packed.minimum) / 65535;
  const values = Float32Array.from({ length: size }, (_, i) => packed.minimum + step * view.getUint16(2 * i, true));
  return { shape: packed.shape, values };
}

/** The matrix of an array [R, C]. */
export function asMatrix({ shape: [rows, columns], values }) {
  return { rows, columns, values };
}

/** The heads of an array [L, H, Q, K] as matrices [L][H]. */
export function headsOf({ shape: [layers, heads, rows, columns], values }) {
  const size = rows * columns;
  const matrix = (index) => ({ rows, columns, values: values.subarray(index * size, (index + 1) * size) });
  return Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (_, head) => matrix(layer * heads + head)));
}

/** The mean or the maximum ("mean", "max") of matrices of one shape, cell by cell. */
export function pool(matrices, how) {
  const { rows, columns } = matrices[0];
  const values = new Float32Array(rows * columns);
  for (const matrix of matrices) {
    for (let i = 0; i < values.length; i += 1) {
      const value = matrix.values[i];
      values[i] = how === "max" ? Math.max(values[i], value) : values[i] + value / matrices.length;
    }
  }
  return { rows, columns, values };
}

/**
 * Tokens become words: columns of a word are added up, its rows averaged, so that a row still adds up to one.
 * Groups are [{start, stop}], `stop` not included.
 */
export function mergeMatrix(matrix, rowGroups, columnGroups) {
  const values = new Float32Array(rowGroups.length * columnGroups.length);
  rowGroups.forEach((rowGroup, r) => columnGroups.forEach((columnGroup, c) => {
    let sum = 0;
    for (let row = rowGroup.start; row < rowGroup.stop; row += 1) {
      for (let column = columnGroup.start; column < columnGroup.stop; column += 1) {
        sum += matrix.values[row * matrix.columns + column];
      }
    }
    values[r * columnGroups.length + c] = sum / (rowGroup.stop - rowGroup.start);
  }));
  return { rows: rowGroups.length, columns: columnGroups.length, values };
}

/** What is chosen of heads [L][H]: `layer` null is all of them; `head` is a number, "mean" or "max". */
export function chosenMatrix(heads, { layer, head }) {
  if (layer === null) return pool(heads.flat(), head === "max" ? "max" : "mean");
  return typeof head === "number" ? heads[layer][head] : pool(heads[layer], head);
}

/** Cell (row, column) of a matrix. */
export function cellOf(matrix, row, column) {
  return matrix.values[row * matrix.columns + column];
}

/** Row r of a matrix as a list. */
export function rowOf(matrix, row) {
  return [...matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns)];
}

/** Column c of a matrix as a list. */
export function columnOf(matrix, column) {
  return Array.from({ length: matrix.rows }, (_, row) => cellOf(matrix, row, column));
}
