// A small chart of the last values, on a canvas.

import { short } from "./elements.js";

// `values`: numbers, null where there is none; the last one is drawn at the right border, of
// `room` that there is room for.
export function drawChart(canvas, values, room, colorName, unit) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const style = getComputedStyle(document.documentElement);
  const color = style.getPropertyValue(colorName);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const most = Math.max(0, ...values.filter((value) => value !== null)) || 1;
  const x = (i) => width - 2 - ((values.length - 1 - i) * (width - 4)) / (room - 1);
  const y = (value) => height - 2 - (value / most) * (height - 22);
  drawGrid(context, width, height, `${short(most, 3)} ${unit}`, style);
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  let open = false;
  values.forEach((value, i) => {
    if (value === null) {
      open = false;
    } else if (open) {
      context.lineTo(x(i), y(value));
    } else {
      context.moveTo(x(i), y(value));
      open = true;
    }
  });
  context.stroke();
  // Values without neighbours make no line.
  values.forEach((value, i) => {
    const alone = value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
    if (alone) context.fillRect(x(i) - 1.5, y(value) - 1.5, 3, 3);
  });
}

function drawGrid(context, width, height, top, style) {
  context.strokeStyle = style.getPropertyValue("--line");
  context.fillStyle = style.getPropertyValue("--quiet");
  context.lineWidth = 1;
  context.font = "11px system-ui, sans-serif";
  for (const part of [0, 0.5, 1]) {
    const y = Math.round(height - 2 - part * (height - 22)) + 0.5;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
  }
  context.fillText(top, 2, 14);
}
