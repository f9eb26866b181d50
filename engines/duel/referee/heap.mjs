// The heap that both bots share: how full it is, and who keeps it.
import v8 from "node:v8";
import vm from "node:vm";

v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc");
v8.setFlagsFromString("--no-expose-gc");

const QUANTUM = 16 << 20;

// What a collection frees of buffers is accounted for when the next one starts.
function collect() {
  gc();
  gc();
}

function used() {
  const { used_heap_size: heap, external_memory: external } = v8.getHeapStatistics();
  return heap + external;
}

// Realms, dead ones too: Node never frees one.
export function realms() {
  return v8.getHeapStatistics().number_of_native_contexts;
}

// Whether more than `bytes` are in use even after a collection.
export function fuller(bytes) {
  if (used() <= bytes) return false;
  collect();
  return used() > bytes;
}

// Books what each bot keeps, to within a quantum: whenever that much more is in use after a call, what is left of it after
// a collection is the caller's.
export class Ledger {
  constructor() {
    collect();
    this.kept = [0, 0];
    this.before = used();
  }

  // After a call of the bot at `position`: whether more than `bytes` are in use.
  note(position, bytes) {
    if (used() - this.before > QUANTUM) {
      collect();
      const now = used();
      this.kept[position] += now - this.before;
      this.before = now;
    }
    return this.before > bytes;
  }

  // The position of the bot that keeps more.
  get keeper() {
    return this.kept[0] > this.kept[1] ? 0 : 1;
  }
}
