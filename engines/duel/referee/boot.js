// What `node -e` runs: takes the referee's modules from standard input and links them by name, so that the process needs
// no access to any file. First come a 4-byte length and a JSON object: { main: name, modules: { name: source } }.
const { readSync } = require("node:fs");
const { SourceTextModule, SyntheticModule } = require("node:vm");

function read(size) {
  const buffer = Buffer.alloc(size);
  for (let filled = 0; filled < size; ) {
    const count = readSync(0, buffer, filled, size - filled, null);
    if (count === 0) process.exit(0);
    filled += count;
  }
  return buffer;
}

const { main, modules } = JSON.parse(read(read(4).readUInt32LE()).toString());
const linked = new Map();

function named(name) {
  if (!linked.has(name)) linked.set(name, name.startsWith("node:") ? builtin(name) : own(name));
  return linked.get(name);
}

function own(name) {
  return new SourceTextModule(modules[name], { identifier: name });
}

function builtin(name) {
  const exports = require(name);
  const names = ["default", ...Object.keys(exports)].filter((key, index, all) => all.indexOf(key) === index);
  return new SyntheticModule(names, function () {
    for (const key of names) this.setExport(key, key === "default" ? exports : exports[key]);
  });
}

const entry = named(main);
entry.link(named).then(() => entry.evaluate()).catch((error) => {
  console.error(error);
  process.exit(1);
});
