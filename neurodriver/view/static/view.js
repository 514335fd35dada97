// The page of a view: `mount` fills an element, and `ask` sends a question and gives its answer.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d",
  "#666666", "#b58900", "#004d40", "#a23b72", "#3d5a80"];
const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };
const LENGTHS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
const MARGIN = { left: 58, right: 12, top: 8, bottom: 26 };
const PAUSE = 250; // ms between two questions for the state

function decoded(packed) {
  const text = atob(packed.data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[packed.type](bytes.buffer);
}

function element(name, given = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A colour of the map "viridis", by a few of its points; shade is 0 to 255.
const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function viridis(shade) {
  const at = (shade / 255) * (VIRIDIS.length - 1), low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((c, i) => Math.round(c + (at - low) * (VIRIDIS[low + 1][i] - c)));
}
const grey = (shade) => [255 - shade, 255 - shade, 255 - shade];

export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999999);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}

// A canvas with axes; `x` and `y` turn values into pixels.
class Plane {
  constructor(canvas, height) {
    const scale = window.devicePixelRatio || 1, width = Math.max(200, canvas.clientWidth || 600);
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    this.pen = canvas.getContext("2d");
    this.pen.scale(scale, scale);
    this.pen.font = "11px system-ui, sans-serif";
    Object.assign(this, { width, height });
    this.box = [MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right,
      height - MARGIN.top - MARGIN.bottom];
  }

  axes(horizontal, vertical, xLabel, yLabel, yNames = null) {
    const [left, top, wide, high] = this.box, pen = this.pen;
    this.x = (v) => left + (wide * (v - horizontal[0])) / (horizontal[1] - horizontal[0]);
    this.y = (v) => top + high - (high * (v - vertical[0])) / (vertical[1] - vertical[0]);
    pen.strokeStyle = "#999";
    pen.strokeRect(left, top, wide, high);
    pen.fillStyle = "#444";
    pen.textAlign = "center";
    for (const v of ticks(...horizontal, 6)) pen.fillText(`${v}`, this.x(v), top + high + 12);
    pen.fillText(xLabel, left + wide / 2, top + high + 24);
    pen.textAlign = "right";
    const rows = yNames ? yNames.map((name, i) => [i, name])
      : ticks(Math.min(...vertical), Math.max(...vertical), 5).map((v) => [v, `${v}`]);
    for (const [v, name] of rows) pen.fillText(short(name), left - 4, this.y(v) + 4);
    pen.save();
    pen.translate(11, top + high / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(yLabel, 0, 0);
    pen.restore();
  }

  image(shades, lines, columns, colour, box = this.box) {
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = lines;
    const pen = small.getContext("2d"), data = pen.createImageData(columns, lines);
    for (let i = 0; i < shades.length; i++) {
      const [r, g, b] = colour(shades[i]);
      data.data.set([r, g, b, 255], 4 * i);
    }
    pen.putImageData(data, 0, 0);
    this.pen.imageSmoothingEnabled = false;
    this.pen.drawImage(small, ...box);
  }

  lines(time, values, count, colours) {
    const pen = this.pen;
    pen.save();
    pen.beginPath();
    pen.rect(...this.box);
    pen.clip();
    for (let row = 0; row < values.length / Math.max(1, count); row++) {
      pen.strokeStyle = colours[row % colours.length];
      pen.beginPath();
      for (let i = 0; i < count; i++) pen.lineTo(this.x(time(i)), this.y(values[row * count + i]));
      pen.stroke();
    }
    pen.restore();
  }
}

const short = (text) => (text.length > 9 ? `${text.slice(0, 8)}…` : text);
const seconds = (value) => `${Number(value.toPrecision(6))} s`;

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > high) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  return [low - room, high + room];
}

function drawRaster(canvas, answer, start, stop) {
  const plane = new Plane(canvas, 240), n = answer.columns, marks = answer.raster;
  if (marks.image) {
    plane.image(decoded(marks.image), ...marks.image.shape, grey);
  } else {
    const time = decoded(marks.time), row = decoded(marks.row), [left, top, wide, high] = plane.box;
    const tall = Math.max(1, Math.min(9, (0.7 * high) / n));
    plane.pen.fillStyle = "#222";
    for (let i = 0; i < time.length; i++) {
      const x = left + (wide * time[i]) / (stop - start), y = top + (high * (row[i] + 0.5)) / n;
      plane.pen.fillRect(x - 0.6, y - tall / 2, 1.2, tall);
    }
  }
  const names = n <= answer.uids.length ? answer.uids : null;
  plane.axes([start, stop], [n - 0.5, -0.5], "time (s)", "component", names);
}

function drawRates(canvas, legend, answer, start, stop) {
  const plane = new Plane(canvas, 170), values = decoded(answer.rates), bins = answer.rates.shape[1];
  plane.axes([start, stop], [0, Math.max(1, extent(values)[1])], "time (s)", "rate (Hz)");
  const middle = (i) => start + ((i + 0.5) * (stop - start)) / bins;
  plane.lines(middle, values, bins, COLOURS);
  key(legend, answer.names.map((name, i) => `${name} (${answer.sizes[i].toLocaleString("en")})`));
}

function key(legend, names) {
  legend.replaceChildren(...names.map((name, i) => {
    const item = element("span", { textContent: `${name} ` });
    item.style.color = COLOURS[i % COLOURS.length];
    return item;
  }));
}

function drawRows(canvas, legend, answer, start, stop, name) {
  const plane = new Plane(canvas, 200), time = decoded(answer.time);
  const label = answer.unit ? `${name} (${answer.unit})` : name;
  legend.replaceChildren();
  if (answer.image) {
    plane.axes([start, stop], [answer.columns - 0.5, -0.5], "time (s)", "component");
    const [left, right] = [time[0], answer.end].map((v) => plane.x(start + v)), box = plane.box;
    plane.image(decoded(answer.image), ...answer.image.shape, viridis,
      [left, box[1], right - left, box[3]]);
    const [low, high] = [answer.low, answer.high].map((v) => Number(v.toPrecision(4)));
    legend.textContent = `${label}: dark ${low}, bright ${high}`;
    return;
  }
  const values = decoded(answer.lines);
  plane.axes([start, stop], extent(values), "time (s)", label);
  plane.lines((i) => start + time[i], values, time.length, COLOURS);
  key(legend, answer.uids);
}

function hexagon(pen, x, y, radius) {
  pen.beginPath();
  for (let i = 0; i < 6; i++) {
    const angle = (Math.PI / 3) * i;
    pen.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  pen.fill();
}

function drawMap(canvas, legend, answer) {
  const plane = new Plane(canvas, 300), pen = plane.pen;
  const side = Math.min(plane.width, plane.height) - 16;
  const left = (plane.width - side) / 2, top = 8;
  const [low, high] = [answer.low, answer.high].map((v) => Number(v.toPrecision(4)));
  legend.textContent = `${answer.label}: dark ${low}, bright ${high}`;
  if (answer.image) {
    const colour = (shade) => (shade === 255 ? [255, 255, 255] : viridis((shade * 255) / 254));
    plane.image(decoded(answer.image), ...answer.image.shape, colour, [left, top, side, side]);
    return;
  }
  const x = decoded(answer.x), y = decoded(answer.y), shades = decoded(answer.shades);
  if (!x.length) return;
  const [x0, x1] = extent(x), [y0, y1] = extent(y), span = Math.max(x1 - x0, y1 - y0);
  const unit = side / (span + 1), radius = answer.hexagons
    ? unit / Math.sqrt(3) : Math.max(1.5, Math.min(12, (0.42 * side) / Math.sqrt(x.length)));
  for (let i = 0; i < x.length; i++) {
    pen.fillStyle = `rgb(${viridis(shades[i]).join(",")})`;
    const px = plane.width / 2 + (x[i] - (x0 + x1) / 2) * unit;
    const py = plane.height / 2 - (y[i] - (y0 + y1) / 2) * unit;
    if (answer.hexagons) hexagon(pen, px, py, radius);
    else { pen.beginPath(); pen.arc(px, py, radius, 0, 2 * Math.PI); pen.fill(); }
  }
}

function figure(name, title, ...controls) {
  const canvas = element("canvas", { role: "img", "aria-label": title });
  const legend = element("div", { className: "nd-note" });
  const note = element("div", { className: "nd-note" });
  const caption = element("figcaption", {}, element("b", { textContent: title }), ...controls);
  const whole = element("figure", { "data-figure": name }, caption, canvas, legend, note);
  return { whole, canvas, legend, note };
}

function options(select, values, texts = values) {
  const kept = select.value;
  select.replaceChildren(...values.map((value, i) => element("option", { value, textContent: texts[i] })));
  if (values.includes(kept)) select.value = kept;
}

class View {
  constructor(root, ask) {
    Object.assign(this, { root, ask, start: 0, stop: 0, reach: 0, parts: [], busy: false, acts: 0 });
    root.classList.add("nd-view");
    this.title = element("h1");
    this.status = element("span", { className: "nd-status" });
    this.button = element("button", { type: "button", hidden: true, onclick: () => this.toggle() });
    this.inputs = element("span", { className: "nd-inputs" });
    this.part = element("select", { "aria-label": "LPU", onchange: () => this.choosePart() });
    this.slider = element("input", { type: "range", min: 0, max: 1000, value: 1000,
      "aria-label": "time", oninput: () => this.slide() });
    this.length = element("select", { "aria-label": "length of the window", onchange: () => this.slide() });
    this.shown = element("span", { className: "nd-window" });
    this.follow = element("input", { type: "checkbox", checked: true, onchange: () => this.tick() });
    this.error = element("div", { className: "nd-error", role: "alert" });
    const again = () => this.draw();
    this.events = element("select", { "aria-label": "events", onchange: again });
    this.values = element("select", { "aria-label": "values", onchange: again });
    this.mapped = element("select", { "aria-label": "variable of the map", onchange: () => this.populate() });
    this.population = element("select", { "aria-label": "population of the map", onchange: again });
    this.uids = element("input", { placeholder: "uids, separated by commas", onchange: again });
    this.raster = figure("raster", "Raster", this.events);
    this.rates = figure("rates", "Rates of populations");
    this.rows = figure("rows", "Values", this.values, this.uids);
    this.map = figure("map", "Map", this.mapped, this.population);
    this.map.whole.classList.add("nd-side");
    const panels = [this.raster, this.rates, this.rows, this.map].map((one) => one.whole);
    root.replaceChildren(
      element("header", {}, this.title, this.part, this.button, this.inputs, this.status),
      element("div", { className: "nd-time" }, element("label", {}, "window ", this.length),
        this.slider, this.shown, element("label", {}, this.follow, " follow the end")),
      this.error, element("div", { className: "nd-panels" }, ...panels));
  }

  // An answer is late if the run was told something after the question.
  async question(given) {
    const acts = this.acts;
    const answer = await this.ask(given);
    if (answer.error) throw new Error(answer.error);
    return { ...answer, late: acts !== this.acts };
  }

  async begin() {
    await this.learn();
    this.timer = setInterval(() => this.tick(), PAUSE);
  }

  end() { clearInterval(this.timer); }

  async learn() {
    try {
      const about = await this.question({ ask: "about" });
      this.parts = about.parts;
      this.title.textContent = about.title;
      const names = about.parts.map((one) => one.name);
      options(this.part, names);
      this.part.hidden = names.length < 2;
      this.take(about);
      this.choosePart();
    } catch (error) { this.say(error); }
  }

  choosePart() {
    this.here = this.parts.find((one) => one.name === this.part.value) || this.parts[0];
    this.take(this.last);
    const some = (keep) => this.here.variables.filter(keep).map((one) => one.name);
    options(this.events, some((one) => one.events));
    options(this.values, some((one) => !one.events));
    options(this.mapped, [...some((one) => one.events), ...some((one) => !one.events)]);
    const lengths = LENGTHS.filter((one) => one >= 10 * this.here.dt);
    options(this.length, [...lengths.map(String), "all"], [...lengths.map((v) => `${v} s`), "all"]);
    if (!this.chosen) this.length.value = this.reach <= 1 && this.here.complete ? "all" : "1";
    if (!this.length.value) this.length.value = "all";
    this.chosen = true;
    this.populate();
    this.slide();
  }

  populate() {
    const found = this.here.variables.find((one) => one.name === this.mapped.value);
    const names = found ? found.populations : [];
    options(this.population, ["", ...names], [`all components`, ...names]);
    if (!this.population.value && names.length && found.columns > 10000) this.population.value = names[0];
    this.draw();
  }

  // Take over what an answer says of the run and of the length of the recordings.
  take(answer) {
    this.last = answer;
    const at = Math.max(0, this.parts.indexOf(this.here));
    const { duration, complete } = answer.durations[at];
    this.reach = duration;
    const control = answer.control;
    if (answer.late) return;
    this.button.hidden = !control || control.ended;
    if (control) {
      this.button.textContent = control.paused ? "Start" : "Pause";
      this.paused = control.paused;
      const now = control.paused ? "paused" : control.idle ? "no run now" : "running";
      const state = control.ended ? "ended" : now;
      const whole = control.steps === null ? "" : ` of ${control.steps.toLocaleString("en")}`;
      this.status.textContent = `${state}, step ${control.step.toLocaleString("en")}${whole}`;
      this.switches(control.inputs, control.ended);
    } else {
      this.status.textContent = complete ? seconds(duration) : `${seconds(duration)}, the run goes on or was killed`;
    }
  }

  switches(inputs, ended) {
    if (this.inputs.childElementCount !== inputs.length) {
      this.inputs.replaceChildren(...inputs.map((one, number) => {
        const box = element("input", { type: "checkbox" });
        box.onchange = () => this.act({ action: "switch", number, on: box.checked });
        return element("label", {}, box, ` ${one.name} `);
      }));
    }
    [...this.inputs.querySelectorAll("input")].forEach((box, i) => {
      box.checked = inputs[i].on;
      box.disabled = ended;
    });
  }

  toggle() { return this.act({ action: this.paused ? "start" : "pause" }); }

  async act(given) {
    this.acts += 1;
    try { this.take(await this.question({ ask: "act", ...given })); } catch (error) { this.say(error); }
  }

  async tick() {
    if (this.asking || !this.last) return;
    this.asking = true;
    try {
      const before = this.reach;
      this.take(await this.question({ ask: "state" }));
      if (!this.here.variables.length && this.reach > 0) await this.learn();
      else if (this.follow.checked && this.reach !== before) { this.slider.value = 1000; this.slide(); }
      else if (this.reach !== before) this.place();
      if (this.lost) { this.lost = false; this.error.textContent = ""; }
    } catch (error) {
      this.lost = true;
      this.say(error);
    } finally { this.asking = false; }
  }

  // Put the slider where the window is, after the recording has grown.
  place() {
    if (this.reach > 0) this.slider.value = (1000 * this.stop) / this.reach;
  }

  slide() {
    const least = 10 * this.here.dt, whole = Math.max(this.reach, least);
    const length = this.length.value === "all" ? whole : Math.min(Number(this.length.value), whole);
    if (Number(this.slider.value) < 1000) this.follow.checked = false;
    this.stop = Math.max(length, (whole * Number(this.slider.value)) / 1000);
    this.start = this.stop - length;
    this.shown.textContent = `${seconds(this.start)} to ${seconds(this.stop)} of ${seconds(this.reach)}`;
    this.draw();
  }

  async draw() {
    if (this.busy) { this.more = true; return; }
    this.busy = true;
    try {
      do {
        this.more = false;
        await this.drawAll();
      } while (this.more);
      this.root.dataset.drawn = String(1 + Number(this.root.dataset.drawn || 0));
    } finally { this.busy = false; }
  }

  async drawAll() {
    const { start, stop } = this, part = this.here.name;
    const several = this.uids.value.split(",").map((text) => text.trim()).filter(Boolean);
    const when = { part, start, stop };
    this.raster.whole.hidden = this.rates.whole.hidden = !this.events.value;
    this.rows.whole.hidden = !this.values.value;
    this.map.whole.hidden = !this.mapped.value;
    if (!this.lost) this.error.textContent = this.here.said || "";
    await this.panel(this.events, { ask: "events", ...when }, (answer) => {
      drawRaster(this.raster.canvas, answer, start, stop);
      this.raster.note.textContent = [`${answer.total.toLocaleString("en")} events of ` +
        `${answer.columns.toLocaleString("en")} components`, answer.raster.said].filter(Boolean).join("; ");
      drawRates(this.rates.canvas, this.rates.legend, answer.rates, start, stop);
      this.rates.note.textContent = answer.rates.said;
    });
    await this.panel(this.values, { ask: "rows", ...when, uids: several }, (answer) => {
      drawRows(this.rows.canvas, this.rows.legend, answer, start, stop, this.values.value);
      this.rows.note.textContent = answer.said;
    });
    const window = Math.min(Math.max((stop - start) / 20, 10 * this.here.dt), 0.05);
    const at = { part, time: stop, window, population: this.population.value };
    await this.panel(this.mapped, { ask: "map", ...at }, (answer) => {
      drawMap(this.map.canvas, this.map.legend, answer);
      this.map.note.textContent = answer.said;
    });
  }

  async panel(select, given, show) {
    if (!select.value) return;
    try {
      show(await this.question({ ...given, variable: select.value }));
    } catch (error) { this.say(error); }
  }

  say(error) { this.error.textContent = error.message || String(error); }
}

export function mount(root, ask) {
  const view = new View(root, ask);
  view.begin();
  return view;
}
