// The heap that both bots share: how full it is.
import v8 from "node:v8";
import vm from "node:vm";

v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc");
v8.setFlagsFromString("--no-expose-gc");

// What a collection frees of buffers is accounted for when the next one starts.
export function collect() {
  gc();
  gc();
}

export function used() {
  const { used_heap_size: heap, external_memory: external } = v8.getHeapStatistics();
  return heap + external;
}

// Whether more than `bytes` are in use even after a collection.
export function fuller(bytes) {
  if (used() <= bytes) return false;
  collect();
  return used() > bytes;
}
