"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const drawn = [];
  const height = 240;
  let moving = false;

  // One zoom for all: what one shows, all show.
  const follow = (from, min, max) => {
    if (moving) return;
    moving = true;
    for (const u of drawn) {
      if (u !== from) u.setScale("x", { min, max });
    }
    moving = false;
  };

  // Seconds of a day as people write them, to so many digits.
  const clock = (seconds, digits) => {
    const parts = 10 ** digits;
    const rest = Math.round((((seconds % 86400) + 86400) % 86400) * parts) / parts % 86400;
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    const part = digits > 0 ? (rest % 1).toFixed(digits).slice(1) : "";
    return `${two(rest / 3600)}:${two((rest / 60) % 60)}:${two(rest % 60)}${part}`;
  };
  // The decimals that marks at multiples of `step` have: 1 for 2.5, 2 for 0.25.
  const decimalsOf = (step) => {
    for (let decimals = 0; decimals < 12; decimals++) {
      const scaled = step * 10 ** decimals;
      if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
    }
    return 12;
  };
  // An upper limit for them, of a step that uPlot has yet to choose.
  const mostDecimalsOf = (step) => Math.min(12, Math.max(0, 1 + Math.ceil(-Math.log10(step) - 1e-9)));
  // A number at a mark. The locale of the browser is not used, as data files do not use it either.
  const numberLabel = (mark, step, largest) => {
    const decimals = decimalsOf(step);
    if (largest < 1e6 && decimals < 12) return mark.toFixed(decimals);
    if (mark === 0) return "0";
    const digits = Math.floor(Math.log10(Math.abs(mark))) - Math.floor(Math.log10(step)) + 1;
    return mark.toExponential(Math.min(15, Math.max(0, digits))).replace(/\.?0+e/, "e");
  };
  // The time of the day, and a date where a day begins.
  const dayLabel = (day, mark, digits) => {
    const text = clock(mark, digits);
    if (!/^[0:.]+$/.test(text)) return text;
    return new Date((day + Math.round(mark / 86400)) * 86400000).toISOString().slice(0, 10);
  };
  const label = (plot, mark, digits) => (plot.day === null ? mark.toFixed(digits) : dayLabel(plot.day, mark, digits));
  const timeAxis = (plot) => ({
    values: (u, marks, axis, space, step) => marks.map((mark) => label(plot, mark, decimalsOf(step))),
    // No mark is nearer to the next than its label is wide.
    space: (u, axis, min, max, room) => {
      const digits = mostDecimalsOf((max - min) / (room / 80));
      const texts = [min, max, 0.5].map((at) => label(plot, at, digits).length);
      return 8 * Math.max(plot.day === null ? 6 : 10, ...texts) + 16;
    },
    ...(plot.day === null ? {} : { incrs: steps }),
  });
  const valueAxis = {
    values: (u, marks, axis, space, step) => {
      const largest = Math.max(...marks.map(Math.abs));
      return marks.map((mark) => numberLabel(mark, step, largest));
    },
  };
  // Steps that clocks have.
  const steps = [
    ...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)),
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000].map((days) => days * 86400),
  ];

  const tint = (bands) => (u) => {
    const { left, top, width, height } = u.bbox;
    const within = (x) => Math.min(Math.max(u.valToPos(x, "x", true), left), left + width);
    for (const [start, end, color] of bands) {
      const from = within(start);
      const to = within(end);
      u.ctx.fillStyle = `rgba(${color},0.15)`;
      if (to > from) u.ctx.fillRect(from, top, to - from, height);
    }
  };

  const show = (plot, place) => {
    const lines = plot.lines.filter((line) => line.x.length > 0);
    const data = lines.length
      ? uPlot.join(lines.map((line) => [line.x, line.y]))
      : [[], []];
    const series = lines.map((line) => ({
      label: line.name,
      stroke: `rgb(${line.color})`,
      width: 1,
      points: { show: line.x.length < 60 },
      value: (u, y) => (y === null ? "--" : String(y)),
      paths: line.held ? uPlot.paths.stepped({ align: 1 }) : undefined,
    }));
    const grid = { stroke: "rgba(0,0,0,0.1)", width: 1 };
    const u = new uPlot(
      {
        title: plot.title,
        width: place.clientWidth,
        height,
        scales: {
          x: { time: false, range: (u, min, max) => (min === null ? plot.range : [min, max]) },
          ...(plot.limits ? { y: { range: plot.limits } } : {}),
        },
        cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
        series: [
          plot.day !== null ? { label: "UTC", value: (u, x) => (x === null ? "--" : clock(x, 3)) } : { label: "s", value: (u, x) => (x === null ? "--" : String(x)) },
          ...series,
        ],
        axes: [
          { grid, label: plot.time, size: 34, labelSize: 20, ...timeAxis(plot) },
          { grid, label: plot.unit, size: 64, labelSize: 20, ...valueAxis },
        ],
        hooks: {
          drawClear: [tint(plot.bands)],
          setScale: [
            (u, key) => {
              const { min, max } = u.scales.x;
              if (key === "x" && min !== null) follow(u, min, max);
            },
          ],
        },
      },
      data,
      place,
    );
    // A double click shows all.
    u.over.addEventListener("dblclick", () => u.setScale("x", { min: plot.range[0], max: plot.range[1] }));
    return u;
  };

  // What the colours behind the lines mean, once.
  const names = new Map();
  for (const plot of plots) for (const [, , color, name] of plot.bands) names.set(name, color);
  if (names.size) {
    const modes = document.createElement("div");
    modes.className = "modes";
    for (const [name, color] of names) {
      const mode = modes.appendChild(document.createElement("span"));
      mode.appendChild(document.createElement("i")).style.background = `rgba(${color},0.3)`;
      mode.append(name);
    }
    document.getElementById("p0").before(modes);
  }

  moving = true;
  plots.forEach((plot, index) => {
    const place = document.getElementById(`p${index}`);
    const u = show(plot, place);
    u.setScale("x", { min: plot.range[0], max: plot.range[1] });
    drawn.push(u);
  });
  moving = false;

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const u of drawn) u.setSize({ width: u.root.parentNode.clientWidth, height });
    }, 100);
  });
  document.documentElement.dataset.plots = String(drawn.length);
})();
