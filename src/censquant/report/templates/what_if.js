// The panel: controls in, the model's fan and survival curve out.
"use strict";
(async () => {
  const read = (id) => document.getElementById(id).textContent;
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("wi-said").textContent = "The panel needs a browser of 2023 or later.";
    return;
  }
  // Compressed, a model takes half of the room.
  const packed = Uint8Array.from(atob(read("page-model")), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const model = censquant.load(await new Response(unpacked).text());
  const { controls, starts, who, unit, bounds } = JSON.parse(read("page-panel"));
  const { quantiles: levels, times } = model.facts;
  const find = (id) => document.getElementById(id);
  const SPACE = "\u00a0";
  const BEYOND = "beyond the data";
  const ROUNDING = 1e-12;

  // Numbers as the tables of the page have them.
  const shown = (x) => {
    const decimals = x === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
    return x.toLocaleString("en", { maximumFractionDigits: Math.min(decimals, 20) });
  };
  const percent = (share) => {
    const digits = share >= 0.0195 && share <= 0.9805 ? 0 : 1;
    if (share > 0 && share < 0.0005) return `below 0.1${SPACE}%`;
    if (share < 1 && share > 0.9995) return `above 99.9${SPACE}%`;
    return `${Number((100 * share).toFixed(digits))}${SPACE}%`;
  };
  const timed = (x) => `${shown(x)}${unit && SPACE + unit}`;

  const answerOf = (values) => {
    const inputs = {};
    for (const [name, { columns }] of Object.entries(model.inputs)) {
      inputs[name] = [columns.map((column) => values[column])];
    }
    const answer = model.predict(inputs);
    return {
      quantiles: answer.quantiles[0],
      survival: answer.survival[0],
      identified: answer.identified[0],
      ...(bounds && {
        lowerBound: answer.lower_bound[0][0],
        isLimited: answer.lower_bound_limited[0][0] > 0,
        interval: [answer.lower_bound[0][1], answer.upper_bound[0][1]],
      }),
    };
  };

  // Drawing

  const svg = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // As wide as the page allows, so that text keeps its size on a phone.
  const [LEFT, RIGHT, END] = [46, 22, times[times.length - 1]];
  // Calibrated bounds are drawn between the fan and its axis.
  const FLOOR = bounds ? 80 : 60;
  let width = 560;
  const measure = () => {
    width = Math.max(260, Math.min(640, Math.round(document.querySelector(".fan").clientWidth)));
    for (const [id, height] of [["wi-fan", FLOOR + 24], ["wi-survival", 268]]) {
      find(id).setAttribute("viewBox", `0 0 ${width} ${height}`);
      find(id).style.maxWidth = `${width}px`;
    }
  };
  const x = (time) => LEFT + (width - LEFT - RIGHT) * Math.min(Math.max(time / END, 0), 1);

  const ticks = () => {
    const rough = END / (width < 420 ? 3 : 5);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    return Array.from({ length: Math.floor(END / step + 1e-9) + 1 }, (_, k) => k * step);
  };

  const axis = (picture, top, bottom) => {
    for (const time of ticks()) {
      picture.append(
        svg("line", { class: "grid", x1: x(time), x2: x(time), y1: top, y2: bottom }),
        svg("text", { class: "small-text", x: x(time), y: bottom + 17, "text-anchor": "middle" },
          shown(time)));
    }
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom }));
  };

  const known = (answer, level) => level <= answer.identified + ROUNDING;

  // The time of a level between those that the model was asked for.
  const timeOf = (answer, level) => {
    const k = levels.findIndex((one) => one >= level);
    if (k <= 0) return answer.quantiles[k < 0 ? levels.length - 1 : 0];
    const weight = (level - levels[k - 1]) / (levels[k] - levels[k - 1]);
    return answer.quantiles[k - 1] + weight * (answer.quantiles[k] - answer.quantiles[k - 1]);
  };

  const band = (picture, answer, low, high, y, height, name) => {
    const last = Math.min(high, Math.max(low, answer.identified));
    const [from, border, to] = [low, last, high].map((level) => x(timeOf(answer, level)));
    if (border > from) picture.append(
      svg("rect", { class: name, x: from, y, width: border - from, height }));
    if (to > border) picture.append(
      svg("rect", { class: "beyond", x: border, y, width: to - border, height }));
  };

  const drawFan = (answer, start) => {
    const picture = find("wi-fan");
    picture.replaceChildren();
    axis(picture, 4, FLOOR);
    band(picture, answer, 0.1, 0.9, 20, 24, "wide");
    band(picture, answer, 0.25, 0.75, 14, 36, "narrow");
    const tick = (one, name) => svg("line", {
      class: name, x1: x(timeOf(one, 0.5)), x2: x(timeOf(one, 0.5)), y1: 9, y2: 55 });
    const inside = (one) => timeOf(one, 0.5) <= END;
    if (inside(start)) picture.append(tick(start, "begin"));
    if (inside(answer)) {
      picture.append(tick(answer, known(answer, 0.5) ? "median" : "median unknown"));
    }
    if (bounds) drawBounds(picture, answer);
  };

  // An interval without an upper end goes on past the picture.
  const drawBounds = (picture, { lowerBound, interval: [low, high] }) => {
    const [from, to, end] = [x(low), x(high), high === Infinity ? width - 4 : x(high)];
    picture.append(
      svg("line", { class: "promise", x1: from, x2: end, y1: 68, y2: 68 }),
      svg("line", { class: "promise", x1: from, x2: from, y1: 62, y2: 74 }),
      high === Infinity
        ? svg("path", { class: "promise", d: `M${end - 7} 63L${end} 68L${end - 7} 73` })
        : svg("line", { class: "promise", x1: to, x2: to, y1: 62, y2: 74 }),
      svg("path", { class: "bound", d: `M${x(lowerBound)} 61l9 7l-9 7Z` }));
  };

  const y = (share) => 12 + (1 - share) * 214;
  const line = (survival, from, to) => survival.slice(from, to)
    .map((share, k) => `${k ? "L" : "M"}${x(times[from + k]).toFixed(2)} ${y(share).toFixed(2)}`)
    .join("");

  const drawSurvival = (answer, start) => {
    const picture = find("wi-survival");
    picture.replaceChildren();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      picture.append(
        svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(share), y2: y(share) }),
        svg("text", { class: "small-text", x: LEFT - 6, y: y(share) + 4, "text-anchor": "end" },
          percent(share)));
    }
    axis(picture, y(1), y(0));
    picture.append(svg("text", { class: "small-text", x: (LEFT + width - RIGHT) / 2, y: y(0) + 36,
      "text-anchor": "middle" }, unit ? `time (${unit})` : "time"));
    if (answer.survival.some((share, k) => share !== start.survival[k])) picture.append(
      svg("path", { class: "begin", d: line(start.survival, 0, times.length) }));
    const beyond = answer.survival.findIndex((share) => !known(answer, 1 - share));
    const end = beyond < 0 ? times.length : beyond;
    picture.append(svg("path", { class: "curve", d: line(answer.survival, 0, end) }));
    if (beyond >= 0) picture.append(svg("path", {
      class: "curve unknown", d: line(answer.survival, Math.max(0, beyond - 1), times.length) }));
  };

  const fillTable = (answer, start) => {
    const cell = (one, k) => {
      const node = document.createElement("td");
      node.className = "number";
      node.textContent = known(one, levels[k]) ? shown(one.quantiles[k]) : BEYOND;
      return node;
    };
    find("wi-table").tBodies[0].replaceChildren(...levels.map((level, k) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = percent(level);
      row.append(head, cell(answer, k), cell(start, k));
      return row;
    }));
  };

  const between = ([low, high]) => (high === Infinity
    ? `${shown(low)} or later` : `${shown(low)} to ${shown(high)}`);

  const fillBounds = (answer, start) => {
    const cells = find("wi-bounds").tBodies[0].rows;
    [answer, start].forEach((one, place) => {
      cells[0].cells[place + 1].textContent =
        `${shown(one.lowerBound)}${one.isLimited ? " (end of follow-up)" : ""}`;
      cells[1].cells[place + 1].textContent = between(one.interval);
    });
  };

  const promised = ({ lowerBound, isLimited, interval: [low, high] }) => {
    const rest = high === Infinity
      ? "Follow-up is too short for an upper bound."
      : `With ${percent(bounds.coverage)} it comes between ${shown(low)} and ${timed(high)}.`;
    const first = isLimited
      ? ` With more than ${percent(bounds.confidence)} confidence there is no event at least until `
        + `the end of follow-up, ${timed(lowerBound)} (calibrated).`
      : ` With ${percent(bounds.confidence)} confidence the event comes no earlier than `
        + `${timed(lowerBound)} (calibrated).`;
    return `${first} ${rest}`;
  };

  const say = (answer) => {
    const half = levels.indexOf(0.5);
    const median = known(answer, 0.5)
      ? `Half of such ${who} have the event by ${timed(answer.quantiles[half])}.`
      : "The median lies beyond the data.";
    find("wi-said").textContent =
      `${median}${bounds ? promised(answer) : ""} `
      + `The data can speak up to the level ${percent(answer.identified)}.`;
  };

  // Controls

  const field = (place) => find(`wi-${place}`);
  const slider = (place) => find(`wi-${place}-slider`);
  let start = starts[0];
  let startAnswer = answerOf(start.values);

  const state = () => Object.fromEntries(controls.map((control, place) => {
    const text = field(place).value;
    if (control.kind !== "number") return [control.name, text];
    return [control.name, text === "" ? null : Number(text)];
  }));

  const valid = () => controls.every((control, place) => field(place).checkValidity());

  const update = () => {
    if (!valid()) return;
    measure();
    const answer = answerOf(state());
    drawFan(answer, startAnswer);
    drawSurvival(answer, startAnswer);
    fillTable(answer, startAnswer);
    if (bounds) fillBounds(answer, startAnswer);
    say(answer);
    api.answer = answer;
  };

  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  };

  const restart = () => {
    controls.forEach((control, place) => {
      const value = start.values[control.name];
      field(place).value = value === null ? "" : value;
      if (control.kind === "number" && value !== null) slider(place).value = value;
    });
    update();
  };

  const api = { answer: startAnswer, model };
  window.censquantPanel = api;
  starts.forEach(({ name }, place) => find("wi-start").append(new Option(name, place)));
  find("wi-start").addEventListener("change", (event) => {
    start = starts[Number(event.target.value)];
    startAnswer = answerOf(start.values);
    restart();
  });
  controls.forEach((control, place) => {
    field(place).addEventListener("input", () => {
      if (control.kind === "number" && field(place).value !== "") {
        slider(place).value = field(place).value;
      }
      later();
    });
    if (control.kind === "number") slider(place).addEventListener("input", () => {
      field(place).value = slider(place).value;
      later();
    });
  });
  const form = document.querySelector(".controls");
  window.addEventListener("resize", later);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => { event.preventDefault(); restart(); });
  restart();
})();
