"use strict";
(() => {
  const { backgrounds, plots } = JSON.parse(document.getElementById("plots").textContent);
  // All plots, and those with the common time axis.
  const all = [];
  const drawn = [];
  const height = 240;
  const flagHeight = 19;
  const backgroundOf = (plot) => backgrounds[plot.background] || { bands: [], states: [], marks: [] };

  // The colours synchronizeZoom the scheme of the browser.
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const ink = () => (scheme.matches ? "#ccc" : "#222");
  const faint = () => (scheme.matches ? "rgba(255,255,255,0.13)" : "rgba(0,0,0,0.1)");
  const paper = () => (scheme.matches ? "rgba(24,26,27,0.75)" : "rgba(255,255,255,0.75)");
  // Lines are lighter on a dark background.
  const lineColor = (color) => {
    if (!scheme.matches) return color;
    if (color === "0,0,0") return "225,225,225";
    return color.split(",").map((part) => Math.round(Number(part) * 0.65 + 255 * 0.35)).join(",");
  };
  let moving = false;

  // All plots with the common time axis show the same range.
  const synchronizeZoom = (from, min, max) => {
    if (moving) return;
    moving = true;
    for (const u of drawn) {
      if (u !== from) u.setScale("x", { min, max });
    }
    moving = false;
  };

  // Formats seconds of a day as a time of day, with this number of decimals.
  const clock = (seconds, digits) => {
    const parts = 10 ** digits;
    const rest = Math.round((((seconds % 86400) + 86400) % 86400) * parts) / parts % 86400;
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    const part = digits > 0 ? (rest % 1).toFixed(digits).slice(1) : "";
    return `${two(rest / 3600)}:${two((rest / 60) % 60)}:${two(rest % 60)}${part}`;
  };
  // Returns the number of decimals of multiples of `step`: 1 for 2.5, 2 for 0.25.
  const decimalsOf = (step) => {
    for (let decimals = 0; decimals < 12; decimals++) {
      const scaled = step * 10 ** decimals;
      if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
    }
    return 12;
  };
  // Returns an upper limit of this number for a step that uPlot has not chosen yet.
  const maxDecimalsOf = (step) => Math.min(12, Math.max(0, 1 + Math.ceil(-Math.log10(step) - 1e-9)));
  // Formats the number at a tick. The locale of the browser is not used, like in data files.
  const numberLabel = (mark, step, largest) => {
    const decimals = decimalsOf(step);
    if (largest < 1e6 && decimals < 5) return mark.toFixed(decimals);
    if (mark === 0) return "0";
    const digits = Math.floor(Math.log10(Math.abs(mark))) - Math.floor(Math.log10(step)) + 1;
    return mark.toExponential(Math.min(15, Math.max(0, digits))).replace(/\.?0+e/, "e");
  };
  // Formats a time of day, or a date at the start of a day.
  const dayLabel = (day, mark, digits) => {
    const text = clock(mark, digits);
    if (!/^[0:.]+$/.test(text)) return text;
    return new Date((day + Math.round(mark / 86400)) * 86400000).toISOString().slice(0, 10);
  };
  const label = (plot, mark, digits) => (plot.day === null ? mark.toFixed(digits) : dayLabel(plot.day, mark, digits));
  const timeAxis = (plot) => ({
    values: (u, marks, axis, space, step) => marks.map((mark) => label(plot, mark, decimalsOf(step))),
    // The minimum distance of two ticks: the width of the widest label.
    space: (u, axis, min, max, room) => {
      const digits = maxDecimalsOf((max - min) / (room / 80));
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
  const stateName = (line, value) => (line.names && line.names[value]) || String(value);
  // The axis of states: ticks at the values that occur, with their names. Labels that would overlap are omitted.
  const stateAxis = (lines) => {
    const states = [...new Set(lines.flatMap((line) => line.y))].filter((y) => y !== null).sort((a, b) => a - b);
    const longest = Math.max(0, ...states.map((state) => stateName(lines[0], state).length));
    return {
      splits: (u, axis, min, max) => {
        let next = min;
        const isShown = (state) => {
          if (state < next || state > max) return false;
          next = state + (max - min) / 14;
          return true;
        };
        return states.filter(isShown);
      },
      values: (u, marks) => marks.map((mark) => stateName(lines[0], mark)),
      size: Math.max(58, 24 + 8.5 * longest),
    };
  };
  // The value axis of the lines on the right or on the left.
  const valueAxisOf = (plot, isRight) => {
    const lines = plot.kind === "lines" ? plot.lines.filter((line) => line.isRight === isRight) : [];
    const isState = lines.length > 0 && lines.every((line) => line.names && JSON.stringify(line.names) === JSON.stringify(lines[0].names));
    return isState ? stateAxis(lines) : valueAxis;
  };
  // The possible distances of the ticks of a clock, in seconds.
  const steps = [
    ...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)),
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000].map((days) => days * 86400),
  ];

  // Adds a margin to a value range, so that no line is on the edge of the plot.
  const withSpace = (low, high) => {
    const space = high > low ? (high - low) * 0.05 : Math.abs(low) * 0.1 || 1;
    return [low - space, high + space];
  };
  const rangeOf = (limits) => (limits ? withSpace(...limits) : (u, low, high) => (low === null ? [0, 1] : withSpace(low, high)));
  const valueRange = (plot) => {
    if (plot.kind === "flags") return [0, plot.lines.length];
    return plot.kind === "heat" ? plot.limits : rangeOf(plot.limits);
  };

  const clampX = (u, x) => {
    const { left, width } = u.bbox;
    return Math.min(Math.max(u.valToPos(x, "x", true), left), left + width);
  };
  const pixels = () => window.devicePixelRatio || 1;
  // Draws coloured time ranges. Their height is this share of the plot, from its lower edge.
  const bars = (u, spans, alpha, share = 1) => {
    const { top, height } = u.bbox;
    for (const [start, end, color] of spans) {
      const from = clampX(u, start);
      const to = clampX(u, end);
      u.ctx.fillStyle = `rgba(${lineColor(color)},${alpha})`;
      if (to > from) u.ctx.fillRect(from, top + height * (1 - share), to - from, height * share);
    }
  };
  // Draws coloured value ranges with their names.
  const drawLevels = (plot) => (u) => {
    const { ctx, bbox } = u;
    const bottom = bbox.top + bbox.height;
    const clampY = (y, other) => (y === null ? other : Math.min(Math.max(u.valToPos(y, "y", true), bbox.top), bottom));
    ctx.font = `${10 * pixels()}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    for (const [low, high, color, name] of plot.levels) {
      const [from, to] = [clampY(high, bbox.top), clampY(low, bottom)];
      if (to <= from) continue;
      ctx.fillStyle = `rgba(${lineColor(color)},0.2)`;
      ctx.fillRect(bbox.left, from, bbox.width, to - from);
      ctx.fillStyle = ink();
      if (to - from >= 13 * pixels()) ctx.fillText(name, bbox.left + 4 * pixels(), from + 2 * pixels());
    }
  };
  // Draws a text along a vertical line, downwards from the top.
  const upright = (u, text, x, y) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.translate(x + 8 * pixels(), y + 3 * pixels());
    ctx.rotate(Math.PI / 2);
    ctx.font = `${10 * pixels()}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    const { width } = ctx.measureText(text);
    ctx.fillStyle = paper();
    ctx.fillRect(-2, -6 * pixels(), width + 4, 12 * pixels());
    ctx.fillStyle = ink();
    ctx.fillText(text, 0, 0);
    ctx.restore();
  };
  const vertical = (u, x, color) => {
    const { ctx, bbox } = u;
    ctx.strokeStyle = color;
    ctx.lineWidth = pixels();
    ctx.setLineDash([4 * pixels(), 3 * pixels()]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
  };
  const isWithin = (u, x) => x >= u.bbox.left && x <= u.bbox.left + u.bbox.width;
  // Draws marks as lines, or as bars if they are wide enough. Texts that would overlap are omitted.
  const drawMarks = (plot) => (u) => {
    let free = -Infinity;
    for (const [start, end, color, , text] of backgroundOf(plot).marks) {
      const from = u.valToPos(start, "x", true);
      const to = u.valToPos(end, "x", true);
      if (to - from >= 2 * pixels()) {
        bars(u, [[start, end, color]], 0.35);
      } else if (isWithin(u, from)) {
        vertical(u, from, `rgb(${lineColor(color)})`);
      }
      if (text && plot.kind === "lines" && isWithin(u, from) && from >= free) {
        upright(u, text, from, u.bbox.top);
        free = from + 16 * pixels();
      }
    }
  };
  const drawCurveMarks = (plot) => (u) => {
    let free = -Infinity;
    for (const [at, name] of [...plot.marks].sort((a, b) => a[0] - b[0])) {
      const x = u.valToPos(at, "x", true);
      if (!isWithin(u, x)) continue;
      vertical(u, x, ink());
      if (x >= free) {
        upright(u, name, x, u.bbox.top);
        free = x + 14 * pixels();
      }
    }
  };
  // Draws each flag as a row with its name, and with bars where its value is not 0.
  const drawFlags = (plot) => (u) => {
    const { ctx, bbox } = u;
    const row = bbox.height / plot.lines.length;
    ctx.font = `${11 * pixels()}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    plot.lines.forEach(({ name, color, x, y }, index) => {
      const top = bbox.top + index * row;
      ctx.fillStyle = `rgba(${lineColor(color)},0.75)`;
      let start = null;
      for (let at = 0; at <= x.length; at++) {
        if (at < x.length && y[at]) {
          start ??= x[at];
        } else if (start !== null) {
          const from = clampX(u, start);
          const to = clampX(u, at < x.length ? x[at] : plot.range[1]);
          if (to > from) ctx.fillRect(from, top + row * 0.12, Math.max(to - from, pixels()), row * 0.76);
          start = null;
        }
      }
      const width = ctx.measureText(name).width;
      ctx.fillStyle = paper();
      ctx.fillRect(bbox.left + 2 * pixels(), top + row * 0.12, width + 6 * pixels(), row * 0.76);
      ctx.fillStyle = ink();
      ctx.fillText(name, bbox.left + 5 * pixels(), top + row / 2);
    });
  };
  // Returns an image of a heat map with a pixel for each value.
  const heatImage = (plot) => {
    const levels = atob(plot.levels);
    const stops = plot.colors.map((color) => color.split(",").map(Number));
    const count = plot.lines[0].x.length;
    const image = document.createElement("canvas");
    image.width = Math.max(count, 1);
    image.height = Math.max(plot.rows, 1);
    const context = image.getContext("2d");
    const data = context.createImageData(image.width, image.height);
    for (let column = 0; column < count; column++) {
      for (let row = 0; row < plot.rows; row++) {
        const at = (levels.charCodeAt(column * plot.rows + row) / 255) * (stops.length - 1);
        const low = stops[Math.floor(at)];
        const high = stops[Math.min(Math.floor(at) + 1, stops.length - 1)];
        const place = 4 * ((plot.rows - 1 - row) * image.width + column);
        for (let part = 0; part < 3; part++) {
          data.data[place + part] = low[part] + (high[part] - low[part]) * (at % 1);
        }
        data.data[place + 3] = 255;
      }
    }
    context.putImageData(data, 0, 0);
    return image;
  };
  const drawHeat = (plot) => {
    const image = heatImage(plot);
    const times = plot.lines[0].x;
    const steps = times.slice(1).map((time, at) => time - times[at]).sort((a, b) => a - b);
    // The maximum width of a column is the median interval, so that gaps stay empty.
    const usual = steps.length ? steps[Math.floor(steps.length / 2)] : 1;
    return (u) => {
      const { top, height } = u.bbox;
      u.ctx.imageSmoothingEnabled = false;
      times.forEach((time, at) => {
        const before = at > 0 ? (time - times[at - 1]) / 2 : usual;
        const after = at + 1 < times.length ? (times[at + 1] - time) / 2 : usual;
        const from = clampX(u, time - Math.min(before, usual));
        const to = clampX(u, time + Math.min(after, usual));
        if (to > from) u.ctx.drawImage(image, at, 0, 1, image.height, from, top, to - from, height);
      });
    };
  };

  // The name of a line in the legend, also if the limits of its axis hide it.
  const nameOf = (line, limits) => {
    const values = limits ? line.y.filter((y) => y !== null) : [];
    if (values.length && values.every((y) => y > limits[1])) return `${line.name} (above the plot)`;
    if (values.length && values.every((y) => y < limits[0])) return `${line.name} (below the plot)`;
    return line.name;
  };
  const seriesOf = (plot) => {
    if (plot.kind === "curves") {
      return plot.curves.map((curve) => ({
        label: nameOf(curve, plot.limits),
        stroke: () => `rgb(${lineColor(curve.color)})`,
        width: 1,
        points: { show: false },
        value: (u, y) => (y === null || y === undefined ? "--" : String(y)),
      }));
    }
    const isDrawn = plot.kind === "lines";
    return plot.lines.map((line) => ({
      label: nameOf(line, line.isRight ? plot.right.limits : plot.limits),
      scale: line.isRight ? "right" : "y",
      stroke: () => (plot.kind === "heat" ? "transparent" : `rgb(${lineColor(line.color)})`),
      width: 1,
      points: { show: isDrawn && line.x.length < 60, fill: () => (scheme.matches ? "#181a1b" : "#fff") },
      value: (u, y) => (y === null || y === undefined ? "--" : stateName(line, y)),
      paths: isDrawn ? (line.held ? uPlot.paths.stepped({ align: 1 }) : undefined) : () => null,
    }));
  };
  const dataOf = (plot) => {
    if (plot.kind === "curves") {
      const length = Math.max(0, ...plot.curves.map((curve) => curve.y.length));
      const x = Array.from({ length }, (_, at) => Number((plot.first + at * plot.step).toPrecision(7)));
      return [x, ...plot.curves.map((curve) => curve.y)];
    }
    return plot.lines.length ? uPlot.join(plot.lines.map((line) => [line.x, line.y])) : [[], []];
  };
  const heightOf = (plot) => (plot.kind === "flags" ? plot.lines.length * flagHeight + 90 : height);

  const show = (plot, place) => {
    if (plot.lines) {
      plot.lines.forEach((line, index) => { line.isRight = Boolean(plot.right) && index >= plot.right.first; });
      plot.lines = plot.lines.filter((line) => line.x.length > 0);
    }
    const hasRight = Boolean(plot.lines) && plot.lines.some((line) => line.isRight);
    const isTimed = plot.kind !== "curves";
    const grid = { stroke: faint, width: 1 };
    const shared = { stroke: ink, grid, ticks: { stroke: faint, width: 1 } };
    // uPlot remembers the colours that it set, so that ours must not stay.
    const isolated = (draw) => (u) => {
      u.ctx.save();
      draw(u);
      u.ctx.restore();
    };
    const before = [];
    const after = [];
    if (plot.kind === "heat") before.push(drawHeat(plot));
    else if (plot.levels && plot.levels.length) before.push(drawLevels(plot));
    else if (isTimed) before.push((u) => bars(u, backgroundOf(plot).bands, 0.15));
    if (isTimed) before.push((u) => bars(u, backgroundOf(plot).states, 0.45, 0.08));
    if (plot.kind === "flags") after.push(drawFlags(plot));
    after.push(isTimed ? drawMarks(plot) : drawCurveMarks(plot));
    const xLabel = isTimed ? "s" : plot.time;
    const u = new uPlot(
      {
        title: plot.title,
        width: place.clientWidth,
        height: heightOf(plot),
        scales: {
          x: { time: false, range: (u, min, max) => (min === null ? plot.range : [min, max]) },
          y: { range: valueRange(plot) },
          ...(hasRight ? { right: { range: rangeOf(plot.right.limits) } } : {}),
        },
        cursor: { ...(isTimed ? { sync: { key: "time" } } : {}), drag: { x: true, y: false } },
        legend: { show: plot.kind !== "flags" },
        series: [
          plot.day !== null ? { label: "UTC", value: (u, x) => (x === null ? "--" : clock(x, 3)) } : { label: xLabel, value: (u, x) => (x === null ? "--" : String(x)) },
          ...seriesOf(plot),
        ],
        axes: [
          { ...shared, label: plot.time, size: 34, labelSize: 20, ...timeAxis(plot) },
          plot.kind === "flags" ? { ...shared, splits: () => [], size: 64, labelSize: 20, label: "" } : { ...shared, label: plot.unit, size: 64, labelSize: 20, ...valueAxisOf(plot, false) },
          ...(hasRight ? [{ ...shared, grid: { show: false }, side: 1, scale: "right", label: plot.right.unit, size: 58, labelSize: 20, ...valueAxisOf(plot, true) }] : []),
        ],
        hooks: {
          drawClear: before.map(isolated),
          draw: after.map(isolated),
          setScale: [
            (u, key) => {
              const { min, max } = u.scales.x;
              if (isTimed && key === "x" && min !== null) synchronizeZoom(u, min, max);
            },
          ],
        },
      },
      dataOf(plot),
      place,
    );
    // A double click shows the whole range.
    u.over.addEventListener("dblclick", () => u.setScale("x", { min: plot.range[0], max: plot.range[1] }));
    return u;
  };

  // A common legend of all plots, with the colours of the bands, the states and the marks.
  const names = new Map();
  for (const { bands, states, marks } of backgrounds) {
    for (const [, , color, name] of bands) names.set(name, [color, 0.3]);
    for (const [, , color, name] of states) names.set(name, [color, 0.6]);
    for (const [, , color, kind] of marks) names.set(kind, [color, 0.8]);
  }
  const first = plots.findIndex((plot) => plot.kind !== "curves");
  if (names.size && first >= 0) {
    const legend = document.createElement("div");
    legend.className = "modes";
    for (const [name, [color, alpha]] of names) {
      const entry = legend.appendChild(document.createElement("span"));
      const sample = entry.appendChild(document.createElement("i"));
      const paint = () => { sample.style.background = `rgba(${lineColor(color)},${alpha})`; };
      paint();
      scheme.addEventListener("change", paint);
      entry.append(name);
    }
    document.getElementById(`p${first}`).before(legend);
  }

  moving = true;
  plots.forEach((plot, index) => {
    const place = document.getElementById(`p${index}`);
    const u = show(plot, place);
    u.setScale("x", { min: plot.range[0], max: plot.range[1] });
    all.push([u, plot]);
    if (plot.kind !== "curves") drawn.push(u);
  });
  moving = false;

  // A link with a time range zooms the plots to this range, with a margin.
  for (const link of document.querySelectorAll("a[data-start]")) {
    link.addEventListener("click", () => {
      const [start, end] = [Number(link.dataset.start), Number(link.dataset.end)];
      const space = Math.max((end - start) * 0.25, 2);
      if (drawn.length) drawn[0].setScale("x", { min: start - space, max: end + space });
    });
  }

  // The legend keeps the colours of its creation.
  const paintLegend = (u) => {
    u.root.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
      const marker = row.querySelector(".u-marker");
      if (index > 0 && marker) marker.style.borderColor = u.series[index].stroke(u, index);
    });
  };
  scheme.addEventListener("change", () => {
    for (const [u] of all) {
      u.redraw(false);
      paintLegend(u);
    }
  });

  // Boxes that can be scrolled to the right show it: phones have no visible scroll bars.
  const boxes = [...document.querySelectorAll(".scroll, pre.columns, nav")];
  const markBox = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  const markBoxes = () => boxes.forEach(markBox);
  boxes.forEach((box) => box.addEventListener("scroll", () => markBox(box)));
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", markBoxes);
  markBoxes();

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const [u, plot] of all) u.setSize({ width: u.root.parentNode.clientWidth, height: heightOf(plot) });
      markBoxes();
    }, 100);
  });
  document.documentElement.dataset.plots = String(all.length);
})();
