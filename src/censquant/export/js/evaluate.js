// Evaluates a model that censquant wrote as JSON: features in, quantiles out, no dependencies.
//
//   const model = censquant.load(json);
//   model.predict({ X: [[61, 3.5], [48, 1.0]] });
//   // { quantiles: [[...], [...]], median: [...], identified: [...] }
(function (root) {
  "use strict";

  const TYPES = {
    f4: Float32Array,
    f8: Float64Array,
    u1: Uint8Array,
    u2: Uint16Array,
    i4: Int32Array,
  };

  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const array = (shape, data) => ({ shape, data: data || new Float64Array(size(shape)) });

  function decoded({ type, shape, data }) {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return array(shape, Float64Array.from(new TYPES[type](bytes.buffer)));
  }

  // Shape of an operation on several arrays, by the rules of broadcasting.
  function broadcast(shapes) {
    const rank = Math.max(...shapes.map((shape) => shape.length));
    const out = new Array(rank).fill(1);
    for (const shape of shapes) {
      for (let axis = 0; axis < shape.length; axis++) {
        const place = rank - shape.length + axis;
        if (shape[axis] !== 1) out[place] = shape[axis];
      }
    }
    return out;
  }

  // For each entry of an array of a shape, the place of the entry that is broadcast to it.
  const known = new Map();
  function places(from, to) {
    const key = `${from}>${to}`;
    if (!known.has(key)) {
      if (known.size > 1000) known.clear();
      known.set(key, findPlaces(from, to));
    }
    return known.get(key);
  }

  function findPlaces(from, to) {
    const index = new Int32Array(size(to));
    const steps = new Array(to.length).fill(0);
    let step = 1;
    for (let axis = from.length - 1; axis >= 0; axis--) {
      if (from[axis] !== 1) steps[to.length - from.length + axis] = step;
      step *= from[axis];
    }
    const counter = new Array(to.length).fill(0);
    for (let i = 0, place = 0; i < index.length; i++) {
      index[i] = place;
      for (let axis = to.length - 1; axis >= 0; axis--) {
        place += steps[axis];
        if (++counter[axis] < to[axis]) break;
        place -= steps[axis] * to[axis];
        counter[axis] = 0;
      }
    }
    return index;
  }

  const same = (a, b) => a.length === b.length && a.every((n, axis) => n === b[axis]);

  function map(f) {
    return ([a]) => [array(a.shape, a.data.map(f))];
  }

  function zip(f) {
    return ([a, b]) => {
      const shape = broadcast([a.shape, b.shape]);
      const out = array(shape);
      const [x, y, result] = [a.data, b.data, out.data];
      if (y.length === 1) {
        for (let k = 0; k < result.length; k++) result[k] = f(x[x.length === 1 ? 0 : k], y[0]);
      } else if (same(a.shape, shape) && same(b.shape, shape)) {
        for (let k = 0; k < result.length; k++) result[k] = f(x[k], y[k]);
      } else {
        const [i, j] = [places(a.shape, shape), places(b.shape, shape)];
        for (let k = 0; k < result.length; k++) result[k] = f(x[i[k]], y[j[k]]);
      }
      return [out];
    };
  }

  function where([flag, yes, no]) {
    const shape = broadcast([flag.shape, yes.shape, no.shape]);
    const [f, y, n] = [flag, yes, no].map((value) => places(value.shape, shape));
    const out = array(shape);
    for (let k = 0; k < out.data.length; k++) {
      out.data[k] = flag.data[f[k]] ? yes.data[y[k]] : no.data[n[k]];
    }
    return [out];
  }

  // Calls f(first place, step, number of entries) for each line along an axis.
  function lines(shape, axis, f) {
    const place = shape.length + axis;
    const step = size(shape.slice(place + 1));
    const length = shape[place];
    for (let i = 0, line = 0; i < size(shape.slice(0, place)); i++) {
      for (let j = 0; j < step; j++, line++) f(i * length * step + j, step, length, line);
    }
  }

  function reduce(f, initial) {
    return ([a], { axis }) => {
      const shape = a.shape.slice();
      shape[shape.length + axis] = 1;
      const out = array(shape);
      lines(a.shape, axis, (first, step, length, line) => {
        let total = initial;
        for (let k = 0; k < length; k++) total = f(total, a.data[first + k * step]);
        out.data[line] = total;
      });
      return [out];
    };
  }

  function matmul([a, matrix]) {
    const [inner, width] = matrix.shape;
    const out = array([...a.shape.slice(0, -1), width]);
    for (let row = 0; row < a.data.length / inner; row++) {
      for (let k = 0; k < inner; k++) {
        const x = a.data[row * inner + k];
        for (let j = 0; j < width; j++) {
          out.data[row * width + j] += x * matrix.data[k * width + j];
        }
      }
    }
    return [out];
  }

  function matmulEach([a, matrices]) {
    const [k, inner, width] = matrices.shape;
    const out = array([a.shape[0], k, width]);
    for (let row = 0; row < a.shape[0] * k; row++) {
      const own = (row % k) * inner * width;
      for (let i = 0; i < inner; i++) {
        const x = a.data[row * inner + i];
        for (let j = 0; j < width; j++) {
          out.data[row * width + j] += x * matrices.data[own + i * width + j];
        }
      }
    }
    return [out];
  }

  function columns([a, index]) {
    const length = a.shape[a.shape.length - 1];
    const width = index.data.length;
    const out = array([...a.shape.slice(0, -1), width]);
    for (let row = 0; row < a.data.length / length; row++) {
      for (let j = 0; j < width; j++) {
        out.data[row * width + j] = a.data[row * length + index.data[j]];
      }
    }
    return [out];
  }

  function takeAlong([a, index]) {
    const length = a.shape[a.shape.length - 1];
    const width = index.shape[index.shape.length - 1];
    const out = array(index.shape);
    for (let k = 0; k < out.data.length; k++) {
      out.data[k] = a.data[Math.floor(k / width) * length + index.data[k]];
    }
    return [out];
  }

  function lookup([table, index]) {
    const rest = table.shape.slice(1);
    const width = size(rest);
    const out = array([...index.shape, ...rest]);
    for (let k = 0; k < out.data.length; k++) {
      out.data[k] = table.data[index.data[Math.floor(k / width)] * width + (k % width)];
    }
    return [out];
  }

  function concat(values, { axis }) {
    const place = values[0].shape.length + axis;
    const shape = values[0].shape.slice();
    shape[place] = values.reduce((total, value) => total + value.shape[place], 0);
    const out = array(shape);
    const blocks = size(shape.slice(0, place));
    let end = 0;
    for (let block = 0; block < blocks; block++) {
      for (const value of values) {
        const length = value.data.length / blocks;
        out.data.set(value.data.subarray(block * length, (block + 1) * length), end);
        end += length;
      }
    }
    return [out];
  }

  function cumulate(f) {
    return ([a], { reverse }) => {
      const out = array(a.shape);
      lines(a.shape, -1, (first, step, length) => {
        let total = null;
        for (let k = 0; k < length; k++) {
          const place = first + (reverse ? length - 1 - k : k);
          total = total === null ? a.data[place] : f(total, a.data[place]);
          out.data[place] = total;
        }
      });
      return [out];
    };
  }

  function sort([a]) {
    const values = array(a.shape);
    const order = array(a.shape);
    lines(a.shape, -1, (first, step, length) => {
      const index = Array.from({ length }, (_, k) => k);
      index.sort((i, j) => a.data[first + i] - a.data[first + j]);
      index.forEach((place, k) => {
        values.data[first + k] = a.data[first + place];
        order.data[first + k] = place;
      });
    });
    return [values, order];
  }

  function repeat([row, like]) {
    const out = array([like.shape[0], ...row.shape]);
    for (let i = 0; i < like.shape[0]; i++) out.data.set(row.data, i * row.data.length);
    return [out];
  }

  function leaves([columns, root, feature, threshold, children]) {
    const [n, width] = columns.shape;
    const trees = root.data.length;
    const out = array([n, trees]);
    for (let row = 0; row < n; row++) {
      for (let tree = 0; tree < trees; tree++) {
        let node = root.data[tree];
        for (let child = node, before = -1; child !== before;) {
          before = node;
          const right = columns.data[row * width + feature.data[node]] > threshold.data[node];
          child = children.data[2 * node + (right ? 1 : 0)];
          node = child;
        }
        out.data[row * trees + tree] = node;
      }
    }
    return [out];
  }

  function leafSums([leaf, start, codes, weights, scales], { n_codes }) {
    const [n, trees] = leaf.shape;
    const out = array([n, n_codes]);
    for (let row = 0; row < n; row++) {
      for (let tree = 0; tree < trees; tree++) {
        const own = leaf.data[row * trees + tree];
        for (let place = start.data[own]; place < start.data[own + 1]; place++) {
          const weight = weights.data.length ? weights.data[place] : 1;
          out.data[row * n_codes + codes.data[place]] += scales.data[own] * weight;
        }
      }
    }
    return [out];
  }

  function position([texts], { column, levels }) {
    const [n, width] = texts.shape;
    const out = array([n, 1]);
    for (let row = 0; row < n; row++) {
      const place = levels.indexOf(String(texts.data[row * width + column]));
      out.data[row] = place < 0 ? levels.length : place;
    }
    return [out];
  }

  const OPERATIONS = {
    add: zip((a, b) => a + b),
    sub: zip((a, b) => a - b),
    mul: zip((a, b) => a * b),
    div: zip((a, b) => a / b),
    min: zip(Math.min),
    max: zip(Math.max),
    less: zip((a, b) => a < b),
    less_equal: zip((a, b) => a <= b),
    greater: zip((a, b) => a > b),
    greater_equal: zip((a, b) => a >= b),
    equal: zip((a, b) => a === b),
    and: zip((a, b) => a && b),
    or: zip((a, b) => a || b),
    not: map((a) => !a),
    neg: map((a) => -a),
    exp: map(Math.exp),
    log: map(Math.log),
    floor: map(Math.floor),
    abs: map(Math.abs),
    is_nan: map(Number.isNaN),
    as_single: map(Math.fround),
    as_integer: map(Math.trunc),
    as_float: ([a]) => [a],
    where,
    matmul,
    matmul_each: matmulEach,
    columns,
    take_along: takeAlong,
    lookup,
    concat,
    sum: reduce((a, b) => a + b, 0),
    highest: reduce(Math.max, -Infinity),
    lowest: reduce(Math.min, Infinity),
    cumsum: cumulate((a, b) => a + b),
    sort,
    reshape: ([a], { lengths }) => [array([a.shape[0], ...lengths], a.data)],
    repeat,
    leaves,
    leaf_sums: leafSums,
    position,
  };

  function loop(node, inputs, values) {
    let carried = inputs;
    const { count, ends, may_skip: maySkip } = node.options;
    if (maySkip) {
      carried = inputs.slice(0, -1);
      if (!inputs[inputs.length - 1].data.some(Boolean)) return carried;
    }
    for (let number = 0; number < count; number++) {
      const own = [array([], Float64Array.of(number)), ...carried];
      node.body.inputs.forEach((id, k) => { values[id] = own[k]; });
      run(node.body.nodes, values);
      const results = node.body.outputs.map((id) => values[id]);
      const going = ends ? results.pop() : null;
      carried = results;
      if (going && !going.data.some(Boolean)) break;
    }
    return carried;
  }

  function run(nodes, values) {
    for (const node of nodes) {
      const inputs = node.inputs.map((id) => values[id]);
      const results = node.op === "loop"
        ? loop(node, inputs, values)
        : OPERATIONS[node.op](inputs, node.options || {});
      node.outputs.forEach((id, k) => { values[id] = results[k]; });
    }
  }

  function rowsOf(value) {
    if (value.shape.length === 1) return Array.from(value.data);
    const width = value.shape[1];
    return Array.from({ length: value.shape[0] }, (_, row) =>
      Array.from(value.data.subarray(row * width, (row + 1) * width)));
  }

  function load(json) {
    const model = typeof json === "string" ? JSON.parse(json) : json;
    const constants = {};
    for (const [id, stored] of Object.entries(model.constants)) constants[id] = decoded(stored);

    function predict(given) {
      const values = Object.assign({}, constants);
      for (const [name, { id, kind, columns: names }] of Object.entries(model.inputs)) {
        const rows = given[name];
        const width = names.length;
        if (!rows || rows.some((row) => row.length !== width)) {
          throw new Error(`The input ${name} must have rows of ${width} values.`);
        }
        // A missing number is null in JSON.
        const flat = rows.flat().map((x) => (kind === "float" && x === null ? NaN : x));
        values[id] = array([rows.length, width], kind === "float" ? Float64Array.from(flat) : flat);
      }
      run(model.nodes, values);
      return Object.fromEntries(
        Object.entries(model.outputs).map(([name, id]) => [name, rowsOf(values[id])]));
    }

    return { predict, inputs: model.inputs, facts: model.facts };
  }

  root.censquant = { load };
  if (typeof module !== "undefined" && module.exports) module.exports = root.censquant;
})(typeof globalThis !== "undefined" ? globalThis : this);
