// Runs models by onnxruntime: node run.js CASES.json, a list of {model, input, dims,
// output}, files of raw float32. Prints a line for each.
const fs = require('fs');
const ort = require('onnxruntime-node');
const floats = (path) => {
  const b = fs.readFileSync(path);
  return new Float32Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.length));
};
(async () => {
  for (const c of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
    const session = await ort.InferenceSession.create(c.model, { logSeverityLevel: 3, intraOpNumThreads: 2,
      extra: { session: { x64quantprecision: '1' } } }); // otherwise sums of bytes saturate without VNNI
    const x = new ort.Tensor('float32', floats(c.input), c.dims);
    const y = (await session.run({ [session.inputNames[0]]: x }))[session.outputNames[0]];
    fs.writeFileSync(c.output, Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength));
    console.log(c.model, y.dims.join('x'));
  }
})().catch((e) => { console.error(String(e)); process.exit(1); });
