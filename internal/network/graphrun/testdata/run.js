// Runs the graphs that gen_graphs.py wrote and writes NAME.safetensors: every output for the image that input holds.
const fs = require('fs');
const ort = require('onnxruntime-node');
const input = Float32Array.from({ length: 2 * 4 * 36 }, (_, i) => ((i * 7919) % 509 - 254) / 128);
(async () => {
  for (const file of fs.readdirSync('.').filter((f) => f.endsWith('.onnx')).sort()) {
    let made;
    try {
      const session = await ort.InferenceSession.create(file,
        { intraOpNumThreads: 1, graphOptimizationLevel: 'disabled', logSeverityLevel: 3 });
      made = await session.run({ x: new ort.Tensor('float32', input, [2, 4, 6, 6]) });
    } catch (e) {
      console.error(file, String(e));
      process.exitCode = 1;
      continue;
    }
    const header = {}, pieces = [];
    let at = 0;
    for (const [name, t] of Object.entries(made)) {
      const small = name.startsWith('whole') && t.data.every((v) => v >= -128 && v < 128);
      const values = small ? Int8Array.from(t.data) : t.data;
      const piece = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
      header[name] = { dtype: small ? 'I8' : 'F32', shape: [...t.dims], data_offsets: [at, at + piece.length] };
      at += piece.length;
      pieces.push(piece);
    }
    let text = JSON.stringify(header);
    text += ' '.repeat((8 - text.length % 8) % 8);
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(text.length));
    fs.writeFileSync(file.replace('.onnx', '.safetensors'), Buffer.concat([size, Buffer.from(text), ...pieces]));
  }
})();
