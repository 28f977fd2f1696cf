// What requests take, from the differences between two reads of the statistics.

import { drawChart } from "./chart.js";
import { byId, short } from "./elements.js";

const kept = 90; // values of a chart: one a second
const models = new Map(); // by name: { last, latency: [], rate: [] }

// The sums over all versions of a model.
function sumsOf(rows) {
  const sums = { count: 0, failed: 0, ns: 0, queue: 0, compute: 0, rows: 0, runs: 0 };
  for (const row of rows) {
    const stats = row.inference_stats;
    sums.count += stats.success.count;
    sums.failed += stats.fail.count;
    sums.ns += stats.success.ns;
    sums.queue += stats.queue.ns;
    sums.compute += stats.compute_infer.ns;
    sums.rows += row.inference_count;
    sums.runs += row.execution_count;
  }
  return sums;
}

// What `read` (the reply of /v2/models/stats, taken at `time` in milliseconds) says of one second.
export function takeStatistics(read, time) {
  const byName = new Map();
  for (const row of read.model_stats) byName.set(row.name, [...(byName.get(row.name) || []), row]);
  for (const [name, rows] of byName) {
    const sums = sumsOf(rows);
    const model = models.get(name) || { latency: [], rate: [] };
    models.set(name, model);
    const before = model.last;
    model.last = { sums, time };
    // After a restart of the server the sums are smaller.
    if (!before || sums.count < before.sums.count) continue;
    const count = sums.count - before.sums.count;
    const each = (part) => (count > 0 ? (sums[part] - before.sums[part]) / count / 1e6 : null);
    model.now = { latency: each("ns"), queue: each("queue"), compute: each("compute") };
    model.now.rate = (count * 1000) / (time - before.time);
    push(model.latency, model.now.latency);
    push(model.rate, model.now.rate);
  }
}

function push(values, value) {
  values.push(value);
  if (values.length > kept) values.shift();
}

export function milliseconds(value) {
  return value < 1 ? `${short(value * 1000, 3)} µs` : `${short(value, 3)} ms`;
}

// "12 requests/s, 1.2 ms", or "" while there is nothing to say.
export function summaryOf(name) {
  const now = models.get(name)?.now;
  if (!now) return "";
  const rate = `${short(now.rate, 3)} requests/s`;
  return now.latency === null ? rate : `${rate}, ${milliseconds(now.latency)}`;
}

export function drawLive(name) {
  const model = models.get(name) || { latency: [], rate: [] };
  const now = model.now;
  const has = now && now.latency !== null;
  byId("latency").textContent = has ? milliseconds(now.latency) : "–";
  byId("parts").textContent = has ? `waiting ${milliseconds(now.queue)}, computing ${milliseconds(now.compute)}` : "";
  byId("rate").textContent = now ? `${short(now.rate, 3)} requests/s` : "–";
  const sums = model.last?.sums;
  byId("totals").textContent = sums ? `${sums.count} in all, ${sums.failed} failed, ${sums.runs} runs` : "";
  drawChart(byId("latency-chart"), model.latency, kept, "--accent", "ms");
  drawChart(byId("rate-chart"), model.rate, kept, "--second", "requests/s");
}
