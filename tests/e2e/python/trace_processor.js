// Runs Perfetto's trace processor under Node: `engine_bundle.js` of Perfetto's page, a worker of a browser, in the given
// directory. Standard input is a TraceProcessorRpcStream of requests, standard output one of replies.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const directory = process.argv[2];
const engine = path.join(directory, "engine_bundle.js");
console.log = console.warn = console.error;

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = Object;
globalThis.location = { href: `file://${engine}` };
// The worker reads its WebAssembly module by this, at once.
globalThis.XMLHttpRequest = class {
  open(_method, name) {
    this.file = path.join(directory, path.basename(name));
  }

  send() {
    this.status = 200;
    this.response = new Uint8Array(fs.readFileSync(this.file)).buffer;
  }
};
// It refuses to run where it finds Node.
globalThis.process = undefined;
vm.runInThisContext(fs.readFileSync(engine, "utf8"), engine);

function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
}

const port = { postMessage: write };
self.onmessage({ data: port });
setImmediate(() => port.onmessage({ data: new Uint8Array(fs.readFileSync(0)) }));
