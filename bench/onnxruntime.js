#!/usr/bin/env node
// Times in ONNX Runtime the evaluations that `kindred bench` times, on the network that kindred exported.
//
//   bench/onnxruntime.js --tune               prints the versions
//   bench/onnxruntime.js --serve CASE FOLDER  prepares FOLDER/model.onnx, and times a turn for each line "turn VARIANT"
//
// bench/setup installs onnxruntime-node into the folder KINDRED_PEERS. All cores, or THREADS, compute.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const readline = require('readline');
const { createRequire } = require('module');

const peers = process.env.KINDRED_PEERS || process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
const threads = Number(process.env.THREADS || os.availableParallelism());
const unknownCase = 3; // exit status

function load() {
  const folder = path.join(peers, 'kindred-onnxruntime', 'node_modules', 'onnxruntime-node');
  try {
    const from = createRequire(path.join(folder, 'package.json'));
    return { ort: from(folder), version: from('./package.json').version };
  } catch (e) {
    console.error(`no ONNX Runtime in ${folder}: run bench/setup (${String(e).split('\n')[0]})`);
    process.exit(1);
  }
}

async function once(work) {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function median(ms) {
  ms.sort((a, b) => a - b);
  const half = ms.length >> 1;
  return ms.length % 2 ? ms[half] : (ms[half - 1] + ms[half]) / 2;
}

// Turns times work as kindred does: a turn is repetitions until 100 ms have passed, and its figure their
// median. One repetition before them is not counted, unless it takes so long that cold caches do not matter.
class Turns {
  constructor(work) { this.work = work; this.last = 0; }
  async turn() {
    if (this.last < 250) await once(this.work);
    const ms = [];
    for (let spent = 0; spent < 100; spent += ms[ms.length - 1]) ms.push(await once(this.work));
    this.last = median(ms);
    return this.last;
  }
}

function floats(file) {
  const raw = fs.readFileSync(file);
  return new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length));
}

async function serve(name, folder) {
  if (!folder) {
    console.error(`no network for the case ${name}`);
    process.exit(unknownCase);
  }
  const { ort } = load();
  const session = await ort.InferenceSession.create(path.join(folder, 'model.onnx'),
    { intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 3 });
  const images = floats(path.join(folder, 'images.f32'));
  const [, channels, height, width] = session.inputMetadata[0].shape;
  const input = new ort.Tensor('float32', images, [images.length / (channels * height * width), channels, height, width]);
  const [from, to] = [session.inputNames[0], session.outputNames[0]];
  const run = async () => (await session.run({ [from]: input }))[to];
  const out = (await run()).data;
  fs.writeFileSync(path.join(folder, 'embeddings.f32'), Buffer.from(out.buffer, out.byteOffset, out.byteLength));
  const turns = new Turns(run);
  console.log(JSON.stringify({ tool: 'ONNX Runtime', variants: [name] }));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line) console.log(JSON.stringify({ ms: await turns.turn() }));
  }
}

async function main(args) {
  if (args[0] === '--tune') {
    console.log(JSON.stringify({ env: {}, threads, models: true,
      versions: { 'ONNX Runtime': load().version, 'Node.js': process.versions.node } }));
  } else if (args[0] === '--serve' && args.length > 1) {
    await serve(args[1], args[2]);
  } else {
    console.error('usage: bench/onnxruntime.js --tune, or --serve CASE FOLDER');
    process.exit(2);
  }
}

main(process.argv.slice(2)).catch((e) => { console.error(String(e)); process.exit(1); });
